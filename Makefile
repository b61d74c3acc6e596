# `make demo` and `make test` are all a newcomer needs. Both set up what is missing, inside the clone, in .venv.
# Needed on the machine: a C and C++ compiler, CMake, Python 3.11 to 3.14 (another name or place: make PYTHON=...).

SCENARIO ?= tabletop
VIEW_PORT ?= 8080
INPUTS ?= 100000
SEED ?= 1
JOBS ?= 1
MINUTES ?= 10
SUITE ?= trixie

.NOTPARALLEL:

# `make test-compat` has an environment of its own; both lie inside the clone.
ENVIRONMENT := .venv
# Which of the lock files in requirements it is made from.
PACKAGES := run

STAMPS := $(ENVIRONMENT)/stamps
MESSAGES := $(wildcard src/impact_msgs/CMakeLists.txt src/impact_msgs/package.xml src/impact_msgs/cmake/* \
                       src/impact_msgs/action/* src/impact_msgs/msg/* src/impact_msgs/srv/*)
PACKAGE := $(wildcard $(foreach part,impact_control impact_control_ros,$(addprefix src/$(part)/,setup.py setup.cfg pyproject.toml package.xml)))
MORE := $(wildcard src/impact_studies/setup.py src/impact_studies/package.xml tools/setup.py)

# A sourced ROS installation must not leak into the environment, which has a ROS of its own. Where containers forbid byte
# code, every process would compile every module anew: 2.2 s for one of ours that takes 0.9 s.
ISOLATED := env -u AMENT_PREFIX_PATH -u CMAKE_PREFIX_PATH -u PYTHONPATH -u PYTHONHOME -u PYTHONDONTWRITEBYTECODE \
                -u RMW_IMPLEMENTATION -u _ROS_WHEELS_BOOTSTRAP_COMPLETE $(if $(AMENT_PREFIX_PATH),-u LD_LIBRARY_PATH)
RUN := $(ISOLATED) $(ENVIRONMENT)/bin/

# A variable as one word for the shell, whatever is in it.
quoted = '$(subst ','\'',$(value $(1)))'

# A step shows its progress itself and returns nothing, or the reason of its failure: the one line make ends with.
step = $(if $(only_asked),,$(call stop_if,$(shell $(ISOLATED) PYTHON=$(call quoted,PYTHON) scripts/setup.sh $(1) $(ENVIRONMENT) $(PACKAGES))))
stop_if = $(if $(1),$(error $(1)))
# `make -n` and `make -q` ask what would be done.
flags = $(filter-out --%,$(firstword -$(MAKEFLAGS)))
only_asked = $(findstring n,$(flags))$(findstring q,$(flags))

.PHONY: help
help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: demo
demo: setup $(if $(VIEW),$(STAMPS)/view) ## run one impact task with the simulated arm and report on it (SCENARIO=tabletop, VIEW=1 to look on in a browser)
	@$(RUN)impact-control demo --scenario=$(call quoted,SCENARIO) $(if $(VIEW),--view --port $(VIEW_PORT))

.PHONY: test
test: lint ## lint, check types, run the tests; then demo and first tests on a bare Debian, as root with debootstrap
	@$(suite)
	@$(by_the_clock)
	@scripts/fresh_machine.sh trixie demo 'unit FILES="$(first)"'

# What shows first that a machine or a Python is not fit: set-up, messages, files, one run of everything.
first = tests/project/test_setup.py \
        $(addprefix tests/impact_control_ros/,bridge session/test_series.py robot_side/test_launch.py) \
        $(addprefix tests/impact_control/,recording/test_recording_bag.py pipeline/test_pipeline.py)

PYTEST = $(RUN)python -m pytest -o cache_dir=$(ENVIRONMENT)/cache/pytest
# What starts nodes, the longest first, and what does not.
nodes = tests/impact_control_ros/scenario tests/impact_control_ros/nodes tests/tools/nodes
units = tests/examples tests/impact_control $(addprefix tests/impact_control_ros/,bridge doctor robot_side session) \
        tests/impact_guard tests/impact_sim_hardware tests/project $(wildcard tests/tools/test_*.py)
# Of the studies, that on random tasks and what runs them all; the others take as long again, and have their own target.
accepted = $(patsubst %,tests/impact_studies/test_studies_%.py,operating_envelope frame trials)
at_once = $(PYTEST) --numprocesses auto --dist loadfile --no-loadscope-reorder $(nodes) $(units)
alone = $(PYTEST) $(nodes) tests/examples tests/tools/test_benchmark_check.py
suite = $(at_once) $(accepted) -m 'not wall_clock and not long'
by_the_clock = $(alone) -m 'wall_clock and not long'

.PHONY: test-compat
test-compat: ## run all tests with the versions of a ROS 2 installation, on Python 3.12 where there is one
	@$(MAKE) --no-print-directory ENVIRONMENT=.venv-compat PACKAGES=compat suite

# The tools for the tests are in the lock file, too.
.PHONY: suite
suite: setup
	@$(suite)
	@$(by_the_clock)

# Compiled while lint and types leave a core idle; whoever comes to them first compiles them himself.
.PHONY: rigid
rigid: $(STAMPS)/test
	@$(RUN)python scripts/warm_up.py rigid > .venv/log/rigid.log 2>&1 &

.PHONY: unit
unit: $(if $(FILES),,rigid $(STAMPS)/cluster) $(STAMPS)/test ## run the unit tests only (FILES= some of them)
	@$(PYTEST) -m 'not wall_clock and not long' --numprocesses auto --dist loadfile --no-loadscope-reorder $(or $(FILES),$(units) tests/impact_studies)

.PHONY: studies
studies: rigid $(STAMPS)/test $(STAMPS)/cluster ## run the tests of studies and of their models, on this machine and on a cluster of Dask
	@$(PYTEST) -m 'not long' --numprocesses auto --dist loadfile tests/impact_studies

.PHONY: fresh-machine
fresh-machine: ## run demo and unit tests on a bare Debian, as root with debootstrap (SUITE=trixie)
	@scripts/fresh_machine.sh $(SUITE) demo unit

.PHONY: new-examples
new-examples: $(STAMPS)/test $(STAMPS)/cluster ## run the unit tests on new random examples
	@$(RUN)python -m pytest $(units) tests/impact_studies -m 'not long' --numprocesses auto --dist loadfile --hypothesis-profile new_examples

.PHONY: fuzz
fuzz: $(STAMPS)/test $(STAMPS)/fuzz ## fuzz what comes in from outside, by coverage and by hypothesis (INPUTS=100000, SEED=1, JOBS=1)
	@$(RUN)python tools/fuzz --inputs $(INPUTS) --seed $(SEED) --jobs $(JOBS)

.PHONY: verify
verify: $(STAMPS)/test $(STAMPS)/cluster ## run long tests; the tabletop scenarios 20 times in lockstep and 10 in real time, the others once
	@$(at_once) tests/impact_studies -m 'long and not wall_clock'
	@$(alone) -m 'long and wall_clock'
	@$(RUN)python -m pytest tests/impact_control_ros/scenario --runs 20
	@$(RUN)python -m pytest tests/impact_control_ros/scenario/test_tabletop_over_dds.py --runs 10 --real-time

# Every test with running nodes of a row in docs/safety.md.
FAULTS = $(shell grep -oE 'tests/[a-z_]+/nodes/[a-z0-9_]+\.py::[a-z0-9_]+' docs/lab/safety_tests.yaml | sort -u)

.PHONY: faults
faults: $(STAMPS)/test ## cause every fault of docs/safety.md that the running nodes can meet 20 times, and print the reactions
	@$(RUN)python -m pytest $(FAULTS) tests/impact_control_ros/nodes/test_killed_scene_nodes.py --times 20 -s

.PHONY: lint
lint: $(STAMPS)/test ## lint, check format and types only
	@$(RUN)ruff check
	@$(RUN)ruff format --check
	@$(RUN)mypy

.PHONY: coverage
coverage: $(STAMPS)/test $(STAMPS)/cluster $(STAMPS)/coverage ## lines of library and studies that the unit tests run: a page in .venv/coverage
	@$(PYTEST) -m 'not wall_clock and not long' --numprocesses auto --dist loadfile $(units) tests/impact_studies --cov --cov-report=html:$(ENVIRONMENT)/coverage --cov-report=term:skip-covered

.PHONY: docs
docs: $(STAMPS)/test ## build the documentation as a site in .venv/site
	@$(RUN)python -m mkdocs build --strict --quiet
	@echo "open .venv/site/index.html"

.PHONY: bench
bench: $(STAMPS)/test $(STAMPS)/peers ## measure everything that has a target beside TSID, pink, MuJoCo and earlier runs, in one report (MINUTES=10, idle and loaded)
	@$(RUN)impact-control bench --growth --minutes $(MINUTES)

.PHONY: setup
setup: $(STAMPS)/warm $(STAMPS)/messages $(STAMPS)/package ## make the environment without running anything

.PHONY: extras
extras: $(STAMPS)/test $(STAMPS)/extras ## install the large packages of requirements/extras.txt and compare with them
	@$(RUN)python -m pytest tests/extras

.PHONY: browser
browser: $(STAMPS)/test $(STAMPS)/view $(if $(BROWSER),,$(STAMPS)/browser) ## look at the live view and a report with a headless browser
	@$(RUN)python -m pytest tests/browser

.PHONY: cluster
cluster: setup $(STAMPS)/cluster ## install Dask, for study --scheduler

.PHONY: lock
lock: $(STAMPS)/lock ## resolve requirements/*.in into lock files again
	@$(RUN)python scripts/lock.py

.PHONY: clean
clean: ## remove the environments and all caches
	@rm -rf .venv .venv-compat
	@find src tests tools scripts -name __pycache__ -prune -exec rm -rf {} +

# The environment holds absolute paths: when the clone has moved or its Python is gone, it is made anew. So it is when
# PYTHON asks for another one.
place = -c 'import os, sys; print(os.path.realpath(sys.executable))' 2>/dev/null
another = $(if $(PYTHON),$(shell [ "$$($(ENVIRONMENT)/bin/python $(place))" = "$$($(call quoted,PYTHON) $(place))" ] || echo another))
ifneq ($(and $(wildcard $(ENVIRONMENT)/bin/python),$(file <$(STAMPS)/python))$(another),$(CURDIR))
.PHONY: $(STAMPS)/python
endif

# Making the environment removes it with all stamps, so everything else follows it.
$(STAMPS)/python: requirements/$(PACKAGES).txt scripts/environment.pth
	$(call step,python)

$(STAMPS)/messages: $(MESSAGES) $(STAMPS)/python
	$(call step,messages)
	@touch $@

$(STAMPS)/package: $(PACKAGE) $(STAMPS)/python
	$(call step,package)
	@touch $@

$(STAMPS)/warm: $(STAMPS)/python | $(STAMPS)/messages $(STAMPS)/package
	$(call step,warm)
	@touch $@

$(STAMPS)/test: requirements/test.txt $(MORE) $(STAMPS)/python | setup
	$(call step,test)
	@touch $@

$(STAMPS)/peers: requirements/peers.txt $(STAMPS)/python | setup
	$(call step,peers)
	@touch $@

$(STAMPS)/extras: requirements/extras.txt $(STAMPS)/python | setup
	$(call step,extras)
	@touch $@

$(STAMPS)/view: requirements/view.txt $(STAMPS)/python | setup
	$(call step,view)
	@touch $@

$(STAMPS)/cluster: requirements/cluster.txt $(STAMPS)/python | setup
	$(call step,cluster)
	@touch $@

$(STAMPS)/coverage: requirements/coverage.txt $(STAMPS)/python | setup
	$(call step,coverage)
	@touch $@

$(STAMPS)/fuzz: requirements/fuzz.txt $(STAMPS)/python | setup
	$(call step,fuzz)
	@touch $@

$(STAMPS)/lock: requirements/lock.txt $(STAMPS)/python | setup
	$(call step,lock)
	@touch $@

$(STAMPS)/browser: scripts/browser.sh $(STAMPS)/python | setup
	$(call step,browser)
	@touch $@
