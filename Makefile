# coderhost: build, try, test and install. `make` alone shows what there is.

PREFIX  ?= /usr/local
DESTDIR ?=
# Independent images with known results; without them that part of `make test` is left out.
CORPUS  ?= ../shared/corpus
# Tests/Suites/judge.py names the packages that it needs, and the virtual environment for them.
PYTHON  ?= python3

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c

.DEFAULT_GOAL := help
.PHONY: help setup run build check test api asan tsan fuzz prove conformance install uninstall bench clean
# Two targets in one command line would be two builds at once.
.NOTPARALLEL:

help: ## show this list
	@echo "make TARGET [PREFIX=$(PREFIX)] [DESTDIR=$(DESTDIR)]"
	@sed -n 's/^\([a-z]*\):[^#]*## /  \1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 15

setup: # part of every other target; quick when nothing is missing
	@.ci/setup

run: setup ## set up, build the command and its plugins, convert images through every format (first build: about 3 minutes)
	@[ -x .build/release/coderhost ] || echo "run: the first build takes about 3 minutes on two processors"
	CODERHOST_LEAVE_OUT="$$(.ci/left-out)" CODERHOST_LOCAL=1 swift build -c release
	@.ci/demonstrate

build: setup ## build everything for release into .build/release (first build: about 6 minutes)
	@[ -x .build/release/coderhost-fetch ] || echo "build: the first build takes about 6 minutes on two processors"
	CODERHOST_LEAVE_OUT="$$(.ci/left-out)" swift build -c release

check: setup ## check format, file sizes, wording, links, figures and cases; builds nothing (10 seconds)
	@.ci/check

test: check ## check, build everything with its tests, run them, then the shared images (first time: about 25 minutes)
	@.ci/setup --all
	@[ -d .build/debug ] || echo "test: the first build takes about 14 minutes on two processors, the tests take 10"
	swift build --build-tests --explicit-target-dependency-import-check error
	@# Without the thousand lines that say that a test has begun; what failed stands once more at the end.
	swift test --skip-build 2>&1 | sed '/^◇/d' | tee .build/test.log || { grep '^✘' .build/test.log | cut -c -400; exit 1; }
	@.ci/skipped .build/test.log
	@.ci/corpus '$(CORPUS)'

api: setup ## build for debug, count the public symbols of each library module, list those without a summary
	swift build
	@.ci/public-api

# A worker is sealed too tightly for these sanitizers: what it loads comes from the release build.
asan: build ## run the tests under the address and undefined sanitizers (builds everything once more; PIECE=CodecTests)
	@Tests/Sanitizers/run.sh address $(PIECE)

tsan: build ## run the tests with threads under the thread sanitizer (builds everything once more; PIECE=CodecTests)
	@Tests/Sanitizers/run.sh thread $(PIECE)

install: $(if $(wildcard .build/release/coderhost-fetch),,build) ## install under PREFIX, with completions and manual pages (builds if nothing is built)
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' .ci/install

uninstall: ## remove what `make install` put under PREFIX
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' .ci/install --remove

bench: build ## measure against the plain C libraries
	@Tests/Benchmarks/run.sh

fuzz: setup ## look for inputs that crash, TIME=60 seconds for each TARGET=…, with libFuzzer (builds everything once more)
	@Tests/Fuzz/fuzz.sh $(or $(TIME),60) $(TARGET)

prove: build ## keep the promises: a million damaged inputs, bombs, cancels; one table (ROWS=… for some of them)
	@Tests/Prove/run.sh $(ROWS)

# Without the suites, the judge names the remedy before anything is built.
conformance: $(if $(wildcard $(addsuffix /.,$(SUITES))),build) ## compare with other decoders over suites of other projects (SUITES=DIR ONLY='*/tiff'; needs numpy)
	@$(PYTHON) Tests/Suites/judge.py --self-test
	@$(PYTHON) Tests/Suites/judge.py '$(SUITES)' $(foreach row,$(ONLY),--only $(row))

clean: ## remove everything that was built
	rm -rf .build
