# Everything runs from a virtual environment that these targets make: Python, pip and make are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := src contracts tests bench

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: up demo test lint types faults bench golden openapi screenshots lock clean

up: $(VENV)/.installed
	@$(BIN)/turnwise up

demo: $(VENV)/.installed
	@$(BIN)/turnwise demo

test: lint types $(VENV)/.browser
	@# Half of the time tests wait for deadlines and restarts: three at once keep two cores busy.
	$(BIN)/python -m pytest -n 3 --dist worksteal

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

types: $(VENV)/.installed-dev
	@# mypy does not follow the mapping of `src` to `turnwise`: it is shown the package under its own name.
	@mkdir -p build/types && rm -rf build/types/turnwise && mkdir build/types/turnwise
	@ln -s $(CURDIR)/src/* $(CURDIR)/contracts build/types/turnwise/
	MYPYPATH=build/types $(BIN)/mypy -p turnwise
	MYPYPATH=build/types $(BIN)/mypy tests bench

faults: $(VENV)/.installed-dev ## make faults SEED=7 DURATION=120 DATABASE=sqlite (or postgresql; both when not given)
	$(BIN)/python -m tests.faults $(if $(SEED),--seed $(SEED)) $(if $(DURATION),--seconds $(DURATION)) $(if $(DATABASE),--database $(DATABASE))

bench: $(VENV)/.installed-dev
	$(BIN)/python -m bench

golden: $(VENV)/.installed-dev ## Records the golden histories anew, after a deliberate change of the workflows.
	$(BIN)/python -m tests.golden

openapi: $(VENV)/.installed-dev ## Writes the API's contract anew, after a deliberate change of the API.
	$(BIN)/python -m tests.test_openapi_contract

screenshots: $(VENV)/.browser ## Makes the pictures in docs/ anew.
	$(BIN)/python -m tests.screenshots
	$(BIN)/python -m tests.terminal_screenshot

lock: $(VENV)/.installed-dev
	$(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-annotate --no-header --quiet -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --generate-hashes --no-annotate --no-header --quiet -c requirements.lock -o requirements-dev.lock

clean:
	rm -rf $(VENV) build *.egg-info

$(VENV)/.installed: requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(BIN)/pip install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

# The page is tested in a real browser. Where there is none and none can be installed, its tests fail and say so.
$(VENV)/.browser: $(VENV)/.installed-dev
	@if [ -n "$$CHROMIUM" ] || command -v chromium || command -v chromium-browser || command -v google-chrome; then touch $@; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get; then apt-get update -qq && apt-get install -qq -y chromium && touch $@; \
	else echo "There is no Chromium, and it cannot be installed from here (that needs root and apt-get)."; fi
