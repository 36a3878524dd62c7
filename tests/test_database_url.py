import pytest

from turnwise.errors import SetupError
from turnwise.store import Store


async def test_an_option_that_no_server_knows_is_told_in_one_sentence_without_the_password() -> None:
    store = Store("postgresql://user:geheim@127.0.0.1:1/turnwise?sslmod=require")
    with pytest.raises(SetupError, match=r"TURNWISE_DATABASE_URL cannot be used: .*sslmod") as refusal:
        await store.open()
    assert "geheim" not in refusal.value.message
    await store.close()
