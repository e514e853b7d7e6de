# Shimquake. `make` lists the targets; CONTRIBUTING.md explains how to work here.
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS     += --no-print-directory

# Variables for users: make suites CONTAINERD=v1.7.4 SHORT=1
CONTAINERD ?=
SHORT      ?=
STRICT     ?=
FOCUS      ?=
SUITES     ?=
PROCS      ?=
TIMEOUT    ?=
RACE       ?=
NIGHT      ?= out/nightly
FUZZTIME   ?= 30s
export CONTAINERD SHORT STRICT FOCUS SUITES PROCS TIMEOUT RACE FUZZTIME NIGHT

# scripts/env finds a Go that is new enough, also if sudo removed it from PATH.
GO := . scripts/env &&

.PHONY: help docs filings setup suites test kill-test vm-v2 vm-sweep mutation faultless repro-reports audit-long bisect-proof nightly-plan nightly-sweep nightly-merge nightly-judge nightly-pairs \
	nightly-random nightly-scripts nightly-matrix nightly-issues nightly-gate nightly-summary lint bench performance fuzz build dist install uninstall gc clean vagrant-check vagrant-test workflows-check scripts-check

help: ## show this list
	@printf 'usage: make TARGET [CONTAINERD=v2.4.2|bin:DIR|src:DIR] [SHORT=1] [STRICT=1] [FOCUS=REGEXP] [SUITES="umount shutdown"] [PROCS=N] [TIMEOUT=20m] [RACE=1] [FUZZTIME=30s]\n\n'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

suites: ## (root) run all suites on CONTAINERD, and print a table of verdicts
	@scripts/setup
	@scripts/suites

test: ## (root) run unit tests, fuzz seeds, controls and the quick suites (SHIMQUAKE_RELEASES=all)
	@scripts/setup
	@scripts/test

kill-test: ## (root) SIGKILL the harness ROUNDS=50 times; the next run must remove everything
	@scripts/setup
	@scripts/kill-test

vm-v2: ## (root) run the quick and the pressure specs in VMs with pure cgroup v2 (LABELS= MACHINES= KERNEL= CONTROLLERS=)
	@scripts/vm-suites

vm-sweep: ## (root) run PART=1/10 of the default sweep here and on pure cgroup v2, and compare case by case
	@scripts/vm-sweep "$${PART:-1/10}"

vagrant-test: ## (root) run the suites in Vagrant machines v2 and v1, on a box made here (MACHINES=v2 UPLINK=1 LABELS=)
	@$(GO) scripts/vagrant-test $(MACHINES)

mutation: ## (root) plant bugs in containerd's source (sweep/mutation/mutations); the sweep must find each (FOCUS=ID PART=1/4)
	@scripts/proof mutation ./sweep/mutation "Test(SweepFindsMutations|SweepKnowsTheUntouched)/$${FOCUS:-.}" -mutation -part "$${PART:-}"

faultless: ## (root) run COUNT=1000 cases without a fault, which must all hold
	@scripts/proof faultless ./sweep/mutation TestFaultless -faultless "$${COUNT:-1000}"

repro-reports: ## (root) run repro on each sample report; each must end with its bug (FOCUS=REGEXP)
	@scripts/proof repro-reports ./repro "TestSampleReports/$${FOCUS:-.}" -reports

audit-long: ## (root) audit a node with CHURN=30m of churn, which must find no suspects, and a node with SHIMS=1000 shims, in at most 1 s
	@scripts/proof audit-long ./audit '^(TestChurn|TestManyShims)$$' -churn "$${CHURN:-30m}" -shims "$${SHIMS:-1000}"

bisect-proof: ## (root) find the releases that fixed two bugs, and a commit, in at most log2 of the range steps (FOCUS=Releases|Commits)
	@scripts/proof bisect-proof ./cmd/shimquake "^TestBisectProofOf($${FOCUS:-.*})" -bisect

nightly-plan: ## (root) plan the night's sweep (SWEEP='--path delete ...' CONTAINERD= NIGHT=out/nightly)
	@scripts/setup
	@scripts/nightly plan

nightly-sweep: ## (root) run or resume a shard of the plan: SHARD=1/8
	@scripts/setup
	@scripts/nightly sweep

nightly-merge: ## (root) merge the shards; fail if a shard is lost or a finding is new
	@scripts/setup
	@scripts/nightly merge

nightly-judge: ## judge the shards' histories again; fail if a verdict changes
	@scripts/nightly judge

nightly-pairs: ## (root) sweep pairs of faults
	@scripts/setup
	@scripts/nightly pairs

nightly-random: ## (root) run random plans; prints the seed (SEED= FOR=30m)
	@scripts/setup
	@scripts/nightly random

nightly-scripts: ## (root) run a shard of all scripts of four steps: SHARD=1/4
	@scripts/setup
	@scripts/nightly scripts

nightly-matrix: ## (root) run every known bug on every branch (RELEASES=v2.3.7,v2.4.2)
	@scripts/setup
	@scripts/nightly matrix

nightly-issues: ## open a GitHub issue for each new finding (REPO=owner/name GITHUB_TOKEN=; DRY=1 prints them)
	@scripts/nightly issues

nightly-gate: ## fail unless all jobs of NEEDS succeeded
	@scripts/nightly gate

nightly-summary: ## print the summaries of NIGHT in Markdown
	@scripts/nightly summary

lint: ## golangci-lint, Vale, and checks of go.mod, comments, commit subjects, scripts, workflows and Vagrantfile
	@$(GO) scripts/tool golangci-lint run ./...
	@$(GO) cd tools/sbom && go tool -modfile=../golangci/go.mod golangci-lint run ./...
	@scripts/check tidy
	@scripts/check comments
	@scripts/check subjects
	@scripts/prose
	@$(MAKE) scripts-check workflows-check vagrant-check

bench: ## (root) run benchmarks into out/bench.txt, for some ten minutes
	@mkdir -p out
	@$(GO) go run ./cmd/performance -machine | tee out/bench.txt
	@$(GO) go test -run '^$$' -bench . -benchmem $$(go list ./... | grep -vE '/suites(/|$$)') | tee -a out/bench.txt

performance: ## generate docs/performance.md from out/bench.txt
	@grep -vE '^(ok|PASS|\?)' out/bench.txt >docs/performance.txt
	@$(GO) go run ./cmd/performance <docs/performance.txt >out/performance.md
	@mv out/performance.md docs/performance.md

fuzz: ## fuzz every target for FUZZTIME
	@$(GO) scripts/fuzz

build: ## build bin/shimquake with the embedded programs of worlds
	@scripts/build bin/shimquake

dist: ## build static binaries, SBOMs, Debian packages and checksums into out/dist (VERSION=v1.2.3)
	@scripts/dist

install: build ## (root) install the command, its manual pages and completions (PREFIX=/usr/local DESTDIR=)
	@scripts/install bin/shimquake

uninstall: ## (root) remove the files of make install
	@scripts/install --remove

docs: ## generate docs/bugs/, the table of bugs in README, docs/history.schema.json, docs/reference.md and the log statements of releases
	@$(GO) go run ./catalogue/page/write
	@mkdir -p out
	@$(GO) go run ./cmd/historyschema >out/history.schema.json && mv out/history.schema.json docs/history.schema.json
	@$(GO) go run ./cmd/reference >out/reference.md && mv out/reference.md docs/reference.md
	@$(GO) go run ./repro/statement/write repro/statement/statements.json.gz

filings: ## (root) record runs for the changed issues in catalogue/filing/issues/ (BUGS='ID...': for these)
	@$(GO) go run ./cmd/filings catalogue/filing/issues/recorded.jsonl $(BUGS)

setup: ## (root) install the system packages that are missing
	@scripts/setup

scripts-check: ## run shellcheck on the scripts (STRICT=1: it must be installed)
	@scripts/check shellcheck

workflows-check: ## run actionlint on .github/workflows
	@$(GO) scripts/check workflows

vagrant-check: ## run vagrant validate (STRICT=1: it must be installed)
	@scripts/check vagrant

gc: ## (root) remove the remains of killed runs: throttles, cgroups, folders
	@$(GO) go run ./cmd/shimquake gc

clean: ## remove bin/ and out/; built releases stay in the cache (/var/cache/shimquake)
	@rm -rf bin out
