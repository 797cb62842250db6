# `make demo` and `make test` need nothing but python3, make and a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CORE_CPP := $(shell find core -name '*.cpp')
CORE_HPP := $(shell find core -name '*.hpp')
BUILT_FROM := pyproject.toml core/CMakeLists.txt $(CORE_CPP) $(CORE_HPP)
PIP := $(BIN)/pip --disable-pip-version-check --quiet

.PHONY: demo test long web lint format bench core-test docs clean

demo: $(VENV)/installed  ## the main job: which network for Llama 3.1 405B on 16,384 GPUs?
	$(BIN)/netloom compare --report netloom-report.html

test: $(VENV)/installed-test  ## the whole test suite
	$(BIN)/pytest -n auto -m "not lab and not long"
	# Real programs wait more than they work; with three at a time they miss their deadlines.
	$(BIN)/pytest -n 2 --dist worksteal -m "lab and not long"

long: $(VENV)/installed-test  ## what takes over a minute: soaks, an hour of updates, many seeds
	NETLOOM_MUTATED_REQUESTS=10000 $(BIN)/pytest -m long --timeout 10000

bench: $(VENV)/installed-test  ## ratios against peers, side by side
	$(BIN)/python -m bench

lint: $(VENV)/installed-lint $(VENV)/installed-test build/tidy/compile_commands.json
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --no-incremental
	$(BIN)/lint-imports
	$(BIN)/codespell src core tests bench docs tools *.md
	$(BIN)/gersemi --check core/CMakeLists.txt
	$(BIN)/clang-format --dry-run --Werror $(CORE_CPP) $(CORE_HPP)
	printf '%s\n' $(filter-out core/bindings/%,$(CORE_CPP)) | xargs -P 2 -n 2 $(BIN)/clang-tidy --quiet -p build/tidy

format: $(VENV)/installed-lint
	$(BIN)/ruff check --fix --exit-zero --quiet .
	$(BIN)/ruff format .
	$(BIN)/gersemi -i core/CMakeLists.txt
	$(BIN)/clang-format -i $(CORE_CPP) $(CORE_HPP)

docs: $(VENV)/installed-docs  ## the documentation as a site, into build/site; a warning fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

web: web/node_modules/.installed  ## the page of netloom serve, into src/netloom/web/static (npm)
	cd web && npx --no-install tsc --noEmit && node build.mjs

web/node_modules/.installed: web/package-lock.json
	cd web && npm ci --ignore-scripts --no-audit --no-fund --silent && touch node_modules/.installed

core-test: $(VENV)/installed-core  ## the C++ tests under the address and UB sanitizers
	$(BIN)/cmake -S core -B build/core -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DCMAKE_BUILD_TYPE=Debug -DNETLOOM_TESTS=ON -DNETLOOM_SANITIZE=ON -DNETLOOM_WERROR=ON
	$(BIN)/cmake --build build/core
	$(BIN)/ctest --test-dir build/core --output-on-failure

build/tidy/compile_commands.json: core/CMakeLists.txt $(VENV)/installed-core
	$(BIN)/cmake -S core -B build/tidy -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) \
	  -DNETLOOM_TESTS=ON >/dev/null

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade pip

$(VENV)/installed: $(BUILT_FROM) | $(VENV)/bin/pip
	$(PIP) install --editable .
	touch $@

$(VENV)/installed-test: $(VENV)/installed
	$(PIP) install --group test
	touch $@

$(VENV)/installed-core: pyproject.toml | $(VENV)/bin/pip
	$(PIP) install --group core
	touch $@

$(VENV)/installed-docs: $(VENV)/installed
	$(PIP) install --group docs
	touch $@

$(VENV)/installed-lint: pyproject.toml | $(VENV)/bin/pip
	$(PIP) install --group lint
	touch $@

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache
