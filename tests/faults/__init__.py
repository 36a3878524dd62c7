"""The fault suite: a load of mixed runs while everything under them is killed, stopped and paused, by a seed."""
