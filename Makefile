# Everything that is done to this project more than once. "make help" lists it.
# It needs Go, a C compiler for the race detector, and git for the version.
# Tools are fetched by "go run" at the version named here, so that go.mod holds
# only what the program is made of.

GO ?= go
GOLANGCI ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.11.4
LICENCES ?= github.com/google/go-licenses@v1.6.0
SCALIBR ?= github.com/google/osv-scalibr/binary/scalibr@v0.5.3

# The nearest tag, or the commit, or "dev" where there is no git.
VERSION ?= $(or $(shell test -e .git && git describe --tags --always --dirty 2>/dev/null),dev)

# What is released, and the systems whose files the linters read.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 windows/386
LINTOS ?= linux windows darwin

FUZZ ?= .
FUZZTIME ?= 10s
RUNS ?= 3000
SEED ?= 1
BENCH ?= .
COUNT ?= 1
ROUNDS ?= 7
PART ?=

BUILD = CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -X github.com/bcdissect/bcdissect/cmd/internal/cli.version=$(VERSION)'
LINT = $(GO) run -exec "env GOOS=$$os" $(GOLANGCI)

.DEFAULT_GOAL := help
.NOTPARALLEL: # targets share caches and two cores; their order is the order below
.PHONY: build test unit unit32 race lint fmt tidy tidy-check golden fuzz damage bench compare cover check cross repro licences sbom clean help

build: ## build bin/bcdissect for this system
	$(BUILD) -o bin/ ./cmd/bcdissect

test: FUZZTIME = 2s
test: tidy-check lint cross unit32 fuzz race ## all that can fail: tidy, lint, cross, unit32, fuzz, race; what CI runs

check: tidy-check lint cross race ## tidy, lint, cross, race: before every commit

unit: ## the tests, quickly
	$(GO) test ./...

unit32: ## the tests as a 32-bit program, where this system can run one
	@if GOARCH=386 CGO_ENABLED=0 $(GO) test unicode/utf16 >/dev/null 2>&1; then \
		set -x; GOARCH=386 CGO_ENABLED=0 $(GO) test ./...; \
	else \
		echo "make: no 32-bit tests: this system cannot run 386 programs" >&2; \
	fi

# Where the race detector cannot be built, the tests are still worth running.
race: ## the tests in random order under the race detector
	@if CGO_ENABLED=1 $(GO) build -race -o /dev/null runtime/cgo 2>/dev/null; then \
		set -x; CGO_ENABLED=1 $(GO) test -race -shuffle=on ./...; \
	else \
		echo "make: NO RACE DETECTOR: it needs a 64-bit system that Go supports and a C compiler ('go env CC' says $$($(GO) env CC))" >&2; \
		set -x; CGO_ENABLED=0 $(GO) test -shuffle=on ./...; \
	fi

lint: ## run the linters (.golangci.yml) over the files of each of LINTOS
	@echo "golangci-lint: $(GOLANGCI) (its first run builds it, which takes minutes)"
	@for os in $(LINTOS); do \
		echo "lint $$os"; \
		$(LINT) run || exit 1; \
	done

fmt: ## format the source
	os=$$($(GO) env GOOS); $(LINT) fmt

tidy: ## bring go.mod and go.sum in order
	$(GO) mod tidy

tidy-check:
	$(GO) mod tidy -diff

golden: ## write the expected outputs anew; read the diff before you commit it
	UPDATE_GOLDEN=1 $(GO) test -count=1 ./...
	@if test -e .git; then git status --short; fi

# The fuzzer now and then reports its own deadline as a failure. What it really
# finds it writes to testdata/fuzz, where the second run meets it at once.
fuzz: ## run each fuzz target that matches FUZZ for FUZZTIME
	@list=$$($(GO) test -list '^Fuzz' ./...) || { printf '%s\n' "$$list"; exit 1; }; \
	printf '%s\n' "$$list" | \
	awk '/^Fuzz/ { name[n++] = $$1 } $$1 == "ok" { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }' | \
	grep -e '$(FUZZ)' | \
	while read -r pkg name; do \
		echo "fuzz $$name $$pkg"; \
		set -- -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1s -parallel 2 "$$pkg"; \
		$(GO) test "$$@" </dev/null || $(GO) test "$$@" </dev/null || exit 1; \
	done

damage: build ## run the built program over RUNS damaged captures, made with SEED
	DAMAGE_RUNS=$(RUNS) DAMAGE_SEED=$(SEED) DAMAGE_PROGRAM=$(CURDIR)/bin/bcdissect \
		$(GO) test -run '^TestDamage$$' -v -count=1 -timeout 60m ./cmd/bcdissect

bench: ## run the benchmarks that match BENCH, COUNT times
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

# Captures are made once, in a temporary folder; tshark, tcpdump and valgrind are
# left out where they are not installed. docs/performance.md explains the numbers.
compare: ## hold whole runs against tshark, tcpdump and each other; PART= one of floor, tshark, jobs, growth, hostile, instructions
	$(GO) run ./docs/bench -rounds $(ROUNDS) $(PART)

cover: ## measure what the tests reach; cover.out is for go tool cover
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	@$(GO) tool cover -func=cover.out | tail -n 1

cross: ## build for each of PLATFORMS into dist/
	@for p in $(PLATFORMS); do \
		os=$${p%/*} arch=$${p#*/} ext=; \
		if test "$$os" = windows; then ext=.exe; fi; \
		echo "build $$p"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -o "dist/bcdissect_$${os}_$$arch$$ext" ./cmd/bcdissect || exit 1; \
	done

# The second build is of a copy in another folder, and compiles everything anew:
# only the source, the version and the compiler may show in the program.
repro: ## build twice, from nothing and in different folders, and compare (a minute)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	mkdir "$$dir/copy" && cp -R cmd decode dissect report go.mod go.sum "$$dir/copy" && \
	$(BUILD) -o "$$dir/here" ./cmd/bcdissect && \
	(cd "$$dir/copy" && GOCACHE="$$dir/cache" $(BUILD) -o "$$dir/there" ./cmd/bcdissect) && \
	cmp "$$dir/here" "$$dir/there" && echo "repro: two builds of $(VERSION) are the same"

# What the tool says on standard error is that it cannot look up web pages.
licences: ## list the modules in the program with their licences in docs/licences.md
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for os in $(LINTOS); do \
		$(GO) run -exec "env GOOS=$$os" $(LICENCES) report --ignore github.com/bcdissect --template docs/licences.tpl ./cmd/bcdissect \
			>>"$$dir/rows" 2>"$$dir/errors" || { cat "$$dir/errors" >&2; exit 1; }; \
	done && \
	sed '/^|---/q' docs/licences.md >"$$dir/page" && grep . "$$dir/rows" | LC_ALL=C sort -u >>"$$dir/page" && \
	cp "$$dir/page" docs/licences.md

# The tool goes by what the compiler writes into a program, and lists folders.
sbom: cross ## list what each program in dist/ is made of, as CycloneDX, in a file beside it (its first run builds the tool, which takes minutes)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for f in dist/bcdissect_*; do \
		case "$$f" in *.json) continue ;; esac; \
		rm -rf "$$dir"/* && cp "$$f" "$$dir" && echo "sbom $$f.cdx.json" && \
		$(GO) run $(SCALIBR) -root "$$dir" -plugins go/binary -offline \
			-cdx-component-name bcdissect -cdx-component-type application -cdx-component-version '$(VERSION)' \
			-o "cdx-json=$$f.cdx.json" >"$$dir/said" 2>&1 || { cat "$$dir/said" >&2; exit 1; }; \
	done

clean: ## remove what was built
	rm -rf bin dist cover.out

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
