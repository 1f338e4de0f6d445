# All recurring tasks of this project. "make help" lists them.
# It needs Go, a C compiler for the race detector, and git for the version.
# Tools are fetched by "go run" at the version named here, so that go.mod holds
# only the modules of the program.

GO ?= go
GOLANGCI ?= github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.11.4
LICENCES ?= github.com/google/go-licenses@v1.6.0
SCALIBR ?= github.com/google/osv-scalibr/binary/scalibr@v0.5.3
GREMLINS ?= github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0
NFPM ?= github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.44.1
CHROMIUM ?= chromium
ESBUILD ?= github.com/evanw/esbuild/cmd/esbuild@v0.28.2
ESLINT ?= eslint@10.15.0
HUGO ?= github.com/gohugoio/hugo@v0.160.1
PAGEFIND ?= pagefind@1.6.0
APIDIFF ?= golang.org/x/exp/cmd/apidiff@v0.0.0-20261014143641-f0251eb4aa3e
WINRES ?= github.com/tc-hib/go-winres@v0.3.3
ACTIONLINT ?= github.com/rhysd/actionlint/cmd/actionlint@v1.7.7

# Without the folder in what it builds, the compiler builds nothing twice: not for
# another clone, and not for the programs that users get.
export GOFLAGS := $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath

# The nearest tag, or the commit, or "dev" where there is no git.
VERSION ?= $(or $(shell test -e .git && git describe --tags --always --dirty 2>/dev/null),dev)

# The released systems, the systems for which the linters run, and those for which
# go vet does: one for each, of other processors.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64 windows/386
LINTOS ?= linux windows darwin
VETTED ?= linux/arm64 windows/386 darwin/arm64

# The version as packages compare it: 1.2.3 of the tag v1.2.3, 1.2.3~rc1 of
# v1.2.3-rc1, 1.2.3+4.gabcdef of the fourth commit after v1.2.3, 0.0.0+abcdef
# before there is a tag. All files of a package have the time of the commit.
PACKAGE_VERSION ?= $(shell echo '$(VERSION)' | sed -E -e 's/^v//' -e 's/-([0-9]+-g)/+\1/' -e 's/-(alpha|beta|rc)/~\1/' -e '/\./!s/^/0.0.0+/' -e 's/-/./g')
PACKAGE_TIME ?= $(or $(shell git log -1 --format=%ct 2>/dev/null),946684800)

# The packages with tests that call fixtures.System or fixtures.More.
SYSTEM ?= ./cmd/... ./decode/msg ./dissect/capture/... ./dissect/conform/... ./dissect/relay ./report ./report/ndjson ./report/wireshark

# The packages in which several goroutines share memory.
CONCURRENT ?= ./cmd/bcdissect $(addprefix ./cmd/internal/,cli control partitions proxy query reading server site sockets stage watch wireshark) ./dissect/capture/... ./report/browser ./report/dashboard

# Their tests that CI has no time for under the race detector, and every-test runs without it:
# in the first ones and in these scripts, only one goroutine works, or the same ones as in TestJobs.
# The scripts run the program 600 times. TestJobs then reads one capture of each form: the
# others differ in their links and messages. "make race-all", which "make nightly" runs, has them all.
ALONE ?= ^Test(TapeMemory|Examples|CollectLater|Damage|Minimize|FolderLinks|Documents|Texts|HostileFileNames|KnownLink|PackedCut|LongerCopy|FieldPlaces|ListIsRead|Memory|Layout|Bounds)$$|^Fuzz(Clock|Program|Columns)$$|^TestScripts$$/^($(ALONE_SCRIPTS))$$|^TestJobs$$/^($(ALONE_CAPTURES))|^Test(ThroughPcapgo|PacketDataSource)$$/^captures$$/^clear$$
ALONE_SCRIPTS = usage|completion|help|opcodes|schema|locale|define|config|encode|decode|vectors|times|nothing|baseline|selection|brief|filter|diff|session|replay|read_table|read_json|csv|stats|logs|patterns|anonymize|annotate|measure|network|player|loss|tshark|demo|write|tables|files|wireshark_install
ALONE_CAPTURES = join_flow-[^f]|battle_mix\.pcap\.|battle_mix-s96|opcode_coverage|two_teams|no_identity|restart|networked_battle|stock_replay

# What "make windows" runs: a double click and the page, the engine for Wireshark, the installer
# and all tests. CI has time for the page, and the tests of files, paths, sockets and whole commands.
# Of the scripts, it runs those whose commands do more than read, compute and print. "make windows",
# which "make nightly" runs, has the others, such as usage with 94 runs of the program.
WINDOWS ?= -home -drops -engine -installer ./...
WINDOWS_CI ?= -home $(addprefix ./cmd/internal/,cli control home launch partitions proxy server wireshark) ./dissect/capture/... -- -run 'TestScripts/^($(ON_WINDOWS))$$' ./cmd/bcdissect
ON_WINDOWS ?= address|bots|config|conform|extcap|files|live_page|locale|logs|panic|patterns|proxy|query|relay|tables|web|wireshark|write

# The packages that "make mutation" tries.
MUTATED ?= decode dissect/transport dissect/internal/fragment dissect/relay dissect/filter

FUZZ ?= .
FUZZTIME ?= 10s
RUNS ?= 3000
SEED ?= 1
BENCH ?= .
COUNT ?= 1
ROUNDS ?= 7
PART ?=
TESTFLAGS ?=

PACKAGING = cmd/bcdissect/packaging

# Programs for users are built with the profile that "make profile" takes, which
# makes most commands four to eleven percent faster. Building so compiles
# everything anew, in a minute; a plain "go build" does without. They also hold
# the page of "make web".
PROFILE = $(PACKAGING)/release.pgo
BUILD = CGO_ENABLED=0 $(GO) build -tags web -trimpath -buildvcs=false -pgo=$(PROFILE) -ldflags '-s -w -X github.com/bcdissect/bcdissect/cmd/internal/cli.version=$(VERSION)'
LINT = $(GO) run -exec "env GOOS=$$os" $(GOLANGCI)

.DEFAULT_GOAL := help
.NOTPARALLEL: # targets share caches and two cores; their order is the order below
.PHONY: build web site test system every-test kaitai acmi page-lint browser pictures ci nightly unit32 arm64 race race-all schema engines plots vet platforms windows windows-home windows-ci lint lint-all fmt tidy tidy-check api golden fuzz damage long wiresharks judge mutation bench compare profile cover check cross resources repro man packages package-check licences licence-texts sbom clean help

build: web ## build bin/bcdissect for this system
	$(BUILD) -o bin/ ./cmd/bcdissect

# The archive is for the programs built with the tag web. The same source and
# compiler give the same files, whatever the version.
web: licence-texts ## the page that reads captures in the browser, as a static site in dist/web
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	GOOS=js GOARCH=wasm CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -ldflags '-s -w' -o "$$dir/bcdissect.wasm" ./cmd/web && \
	$(GO) run ./cmd/web/site -wasm "$$dir/bcdissect.wasm" -support "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" -licences dist/licences.txt -out dist/web -zip cmd/internal/site/site.zip

# Many tests wait, so that more than one for each processor may run at a time. Fewer
# garbage collections save a tenth of the processor time.
test system race: export GOGC := $(or $(GOGC),400)
SIDE_BY_SIDE = -parallel 8
test: ## the tests: a minute, and one more for the first build
	$(GO) test $(SIDE_BY_SIDE) $(TESTFLAGS) -timeout 30m ./...

# "make test" leaves out tests that call fixtures.System, and parts of those that
# call fixtures.More.
system every-test: export BCDISSECT_SYSTEM = 1
system every-test: TESTFLAGS = -count=1
system: ## the tests that need other programs, a terminal, a network namespace or time
	$(GO) test $(SIDE_BY_SIDE) $(TESTFLAGS) -timeout 30m $(SYSTEM)

every-test: test ## the tests of test and system, each once

acmi: ## recordings for Tacview, read by a parser of another project
	cd report/acmi/acmitest && $(GO) test ./...

# esbuild parses script and style, and warns of mistakes; it exits with 0 even so.
# ESLint also knows the names, but needs Node.js, so that it may be missing.
page-lint: PAGES = report/page report/league cmd/web/site cmd/internal/livepage/site cmd/internal/home/page docs/site
page-lint: ## lint the scripts and styles of the web pages, with npx also by ESLint
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) run $(ESBUILD) --log-level=warning --log-limit=0 --target=es2022 --outdir="$$dir" $(foreach p,$(PAGES),$p/*.js $p/*.css) 2>"$$dir/said" || { cat "$$dir/said" >&2; exit 1; }; \
	if grep -q WARNING "$$dir/said"; then cat "$$dir/said" >&2; exit 1; fi; \
	if command -v npx >/dev/null; then \
		npx --yes $(ESLINT) --max-warnings 0 -c report/page/eslint.config.mjs $(PAGES); \
	else \
		echo "make: no ESLint: npx (Node.js) is not installed" >&2; \
	fi

# The driver is in a module of its own and stays out of the program's go.mod.
browser: page-lint
browser: ## the web pages, opened in Chromium where it is installed
	@if command -v $(CHROMIUM) >/dev/null; then \
		$(MAKE) --no-print-directory build && cd report/page/browsertest && $(GO) vet ./... && CHROMIUM=$(CHROMIUM) $(GO) test -count=1 ./...; \
	else \
		echo "make: no browser tests: $(CHROMIUM) is not installed" >&2; \
	fi

# The first run builds Hugo, which takes minutes. The search is an npm package; without
# it the documents have none.
site: ## the documents as a web site in dist/site, and its test in Chromium where both are installed
	rm -rf dist/site
	$(GO) run $(HUGO) --source docs/site --panicOnWarning --quiet
	@if command -v npx >/dev/null; then \
		npx --yes $(PAGEFIND) --silent --site dist/site; \
	else \
		echo "make: the documents have no search: npx (Node.js) is not installed" >&2; \
	fi; \
	if command -v npx >/dev/null && command -v $(CHROMIUM) >/dev/null; then \
		cd report/page/browsertest && CHROMIUM=$(CHROMIUM) BCDISSECT_SITE=$(CURDIR)/dist/site $(GO) test -count=1 -run '^TestDocument' ./...; \
	fi

pictures: build ## the pictures of the documents, made anew in docs/images
	cd report/page/browsertest && CHROMIUM=$(CHROMIUM) BCDISSECT_PICTURES=$(CURDIR)/docs/images $(GO) test -count=1 -run '^TestPictures$$' ./...
	BCDISSECT_PICTURES=$(CURDIR)/docs/images $(MAKE) --no-print-directory windows-home

check: tidy-check api test lint vet race ## tidy, api, test, lint, vet, race: before every commit

# Each stage says when it begins and how long it took, and all are listed at the
# end. A check with a browser or with Wireshark goes before package-check.
ci: STAGES = tidy-check api every-test arm64 acmi schema lint vet windows-ci race browser package-check
ci: ## all checks before a merge, in at most 20 minutes on two processors
	@$(STAGED)

nightly: STAGES = every-test arm64 windows schema engines site kaitai unit32 lint-all race-all cross packages fuzz damage long wiresharks judge mutation compare
nightly: ## everything, in some hours
	@$(STAGED)

STAGED = report=$$(mktemp) && trap 'rm -f "$$report"' EXIT && \
	for stage in $(STAGES); do \
		echo "== $$stage" && began=$$(date +%s) && \
		if $(MAKE) --no-print-directory $$stage; then \
			printf '%-14s %4d s\n' $$stage $$(($$(date +%s) - began)) >>"$$report"; \
		else \
			cat "$$report"; echo "$$stage failed after $$(($$(date +%s) - began)) s" >&2; exit 1; \
		fi; \
	done && cat "$$report"

# The packages of the library, as docs/api holds them: dissect-relay.export is
# that of dissect/relay.
PUBLIC = $(subst -,/,$(patsubst docs/api/%.export,%,$(wildcard docs/api/*.export)))

api: ## compare the library with docs/api; UPDATE=1 writes docs/api anew
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && GOBIN=$$dir $(GO) install $(APIDIFF) && \
	for p in $(PUBLIC); do \
		file=docs/api/$$(echo $$p | tr / -).export; \
		if [ -n "$(UPDATE)" ]; then "$$dir/apidiff" -w $$file ./$$p || exit 1; continue; fi; \
		changes=$$("$$dir/apidiff" -incompatible $$file ./$$p) || exit 1; \
		if [ -n "$$changes" ]; then echo "$$p has changed so that programs may have to change, too:" && echo "$$changes"; failed=1; fi; \
	done; [ -z "$$failed" ] || { echo "make: note it in CHANGELOG.md, then 'make api UPDATE=1'" >&2; exit 1; }

unit32: ## the tests as a 32-bit program, where this system can run one
	@if GOARCH=386 CGO_ENABLED=0 $(GO) test unicode/utf16 >/dev/null 2>&1; then \
		set -x; GOARCH=386 CGO_ENABLED=0 $(GO) test ./...; \
	else \
		echo "make: no 32-bit tests: this system cannot run 386 programs" >&2; \
	fi

# The cipher has a form in assembly for these processors.
arm64: ## the tests of the cipher on 64-bit ARM, emulated elsewhere
	@if [ "$$($(GO) env GOARCH)" = arm64 ]; then \
		set -x; $(GO) test ./dissect/cipher; \
	elif command -v qemu-aarch64 >/dev/null; then \
		set -x; GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec qemu-aarch64 ./dissect/cipher; \
	else \
		echo "make: no tests on ARM: qemu-aarch64 (Debian's package is qemu-user) is not installed" >&2; \
	fi

# Where the race detector cannot be built, the tests are still worth running.
# Each program that the detector watches sleeps for a second at its end unless
# told otherwise, and the tests run hundreds.
race: ## the tests of CONCURRENT without ALONE in random order under the race detector
	@if CGO_ENABLED=1 $(GO) build -race -o /dev/null runtime/cgo 2>/dev/null; then \
		set -x; CGO_ENABLED=1 GORACE=atexit_sleep_ms=10 $(GO) test $(SIDE_BY_SIDE) -race -shuffle=on -skip '$(ALONE)' -timeout 30m $(CONCURRENT); \
	else \
		echo "make: NO RACE DETECTOR: it needs a 64-bit system that Go supports and a C compiler ('go env CC' says $$($(GO) env CC))" >&2; \
		set -x; CGO_ENABLED=0 $(GO) test -shuffle=on -timeout 30m $(CONCURRENT); \
	fi

race-all: CONCURRENT = ./...
race-all: ALONE = ^$$
race-all: race ## the same for all packages and tests

vet: ## go vet for the systems of VETTED other than this one
	@for p in $(filter-out $(shell $(GO) env GOOS)/%,$(VETTED)); do \
		echo "vet $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
	done

# Programs for users take minutes more, because of the profile. CI builds two of
# them, and vet compiles the packages for others; "make nightly" builds all.
platforms: ## check that the program can be built for each of PLATFORMS
	@for p in $(PLATFORMS); do \
		echo "build $$p"; \
		GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -ldflags=-w -o /dev/null ./cmd/bcdissect || exit 1; \
	done

# The tests that cannot pass under wine are in left-out.txt, with reasons.
windows: $(if $(filter -home -drops -installer,$(WINDOWS)),build)
windows: ## the program for Windows and the tests of WINDOWS, under wine where it is installed
	@$(GO) run ./$(PACKAGING)/windows $(WINDOWS)

windows-home: WINDOWS = -home
windows-home: build windows ## the page for players, opened by a double click under wine

windows-ci: WINDOWS = $(WINDOWS_CI)
windows-ci: build windows ## the same for the tests of WINDOWS_CI

# The validator is in a module of its own and stays out of the program's go.mod.
schema: ## validate the JSON of every fixture against the schemas in docs/schema
	cd docs/schema/check && $(GO) vet ./... && $(GO) test -count=1 ./...

# The engines are npm packages, which stay out of go.mod.
engines: build ## read the tables of fixtures with DuckDB and ClickHouse, and run the queries of docs/tables.md
	@if command -v node >/dev/null && (cd report/tables/enginetest && npm install --no-save --no-audit --no-fund >/dev/null 2>&1); then \
		node report/tables/enginetest/check.mjs bin/bcdissect .; \
	else \
		echo "make: no engines: node or the packages of report/tables/enginetest cannot be had" >&2; \
	fi

plots: build ## draw the plots of docs/tables.md (after make engines)
	node report/tables/enginetest/plots.mjs bin/bcdissect .

kaitai: export BCDISSECT_KAITAI = all
kaitai: export BCDISSECT_SYSTEM = 1
kaitai: ## the messages of all fixtures, read by a parser that Kaitai Struct makes
	$(GO) test -count=1 -timeout 30m -run TestKaitai ./cmd/bcdissect

# The linter opens Go files that use C by the name that the build cache holds. Without the folder in
# what is built, that could be a file of another clone. This flag makes each clone build those anew.
lint lint-all: export CGO_CFLAGS := -O2 -g '-I$(CURDIR)'
lint: ## run the linters (.golangci.yml) over the files of this system
	@echo "golangci-lint: $(GOLANGCI) (its first run builds it, which takes minutes)"
	@os=$$($(GO) env GOOS); $(LINT) run --allow-parallel-runners

lint-all: ## run the linters over the files of each of LINTOS
	@for os in $(LINTOS); do \
		echo "lint $$os"; \
		$(LINT) run --allow-parallel-runners || exit 1; \
	done

fmt: ## format the source
	os=$$($(GO) env GOOS); $(LINT) fmt

tidy: ## tidy go.mod and go.sum
	$(GO) mod tidy

tidy-check:
	$(GO) mod tidy -diff

golden: ## update the expected outputs; read the diff before you commit it
	UPDATE_GOLDEN=1 $(GO) test -count=1 ./...
	@if test -e .git; then git status --short; fi

# The fuzzer now and then reports its own deadline as a failure. Real failures
# are saved in testdata/fuzz, so the second run fails at once.
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

long: ## the tests that have a long form (BCDISSECT_LONG), in that form
	BCDISSECT_SYSTEM=1 BCDISSECT_LONG=1 $(GO) test -count=1 -timeout 60m $(SYSTEM) ./dissect/match ./dissect/relay/...
	cd docs/schema/check && BCDISSECT_LONG=1 $(GO) test -count=1 -timeout 60m ./...
	@if command -v $(CHROMIUM) >/dev/null; then \
		$(MAKE) --no-print-directory build && cd report/page/browsertest && CHROMIUM=$(CHROMIUM) BCDISSECT_LONG=1 $(GO) test -count=1 -timeout 60m ./...; \
	else \
		echo "make: no hour of a live page: $(CHROMIUM) is not installed" >&2; \
	fi

wiresharks: ## the tests of the plugin with Wireshark 4.4 and 4.6, in Debian's later releases (needs root and debootstrap)
	report/wireshark/releases.sh

judge: ## hold replay against sound and faulty hosts on bad lines, and write the tables of docs/judge.md (a minute)
	BCDISSECT_JUDGE=write $(GO) test -run '^TestJudge$$' -v -count=1 -timeout 120m ./dissect/conform

# A mutant that lives is a change of the code that no test of its package sees.
# Without -count=1 the time that a test may take could be measured from the
# cache. Gremlins' --test-cpu is not for use: in v0.6.0 no test runs with it, and
# every mutant counts as killed.
mutation: ## change the code of MUTATED in small ways, and count the changes that tests notice (hours)
	@for dir in $(MUTATED); do \
		echo "mutation $$dir"; \
		GOFLAGS="$$GOFLAGS -count=1 -vet=off" $(GO) run $(GREMLINS) unleash --workers 2 --timeout-coefficient 6 "./$$dir" || exit 1; \
	done

bench: ## run the benchmarks that match BENCH, COUNT times
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./...

# Captures are made once, in a temporary folder; tshark, tcpdump and valgrind are
# left out where they are not installed. docs/performance.md explains the numbers.
compare: ## time whole runs against tshark, tcpdump and each other; PART= one of floor, start, tshark, jobs, costs, replay, growth, hostile, instructions
	$(GO) run ./docs/bench -rounds $(ROUNDS) $(PART)

# Each command runs for as long as any other, so that none is forgotten. Calls that a change of the code moves are no longer found in an old
# profile: take it anew before a release.
profile: ## take the profile that release builds use, on an otherwise idle machine
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	$(GO) test -trimpath -run '^$$' -bench '^BenchmarkCommands$$' -benchtime 3s -o "$$dir/test" -outputdir "$$dir" -cpuprofile release.pgo ./cmd/bcdissect && \
	cp "$$dir/release.pgo" $(PROFILE)

cover: ## measure test coverage; cover.out is for go tool cover
	$(GO) test -coverpkg=./... -coverprofile=cover.out ./...
	@$(GO) tool cover -func=cover.out | tail -n 1

# With a profile, the compiler compiles everything anew for each system. Only
# package-check does without it for other systems than this one.
FOREIGN_PROFILE ?= $(PROFILE)
cross: web ## build for each of PLATFORMS into dist/
	@rm -f dist/bcdissect_*
	@for p in $(PLATFORMS); do \
		os=$${p%/*} arch=$${p#*/} ext= pgo=$(FOREIGN_PROFILE); \
		if test "$$os" = windows; then ext=.exe; fi; \
		if test $$p = $(HOST); then pgo=$(PROFILE); fi; \
		echo "build $$p"; \
		GOOS=$$os GOARCH=$$arch $(BUILD) -pgo=$$pgo -o "dist/bcdissect_$${os}_$$arch$$ext" ./cmd/bcdissect || exit 1; \
		if test "$$os" = windows; then $(GO) run $(WINRES) patch --in $(RESOURCES) --product-version '$(VERSION)' --file-version '$(VERSION)' --no-backup "dist/bcdissect_$${os}_$$arch$$ext" && \
			$(PACKAGING)/windows/sign.sh "dist/bcdissect_$${os}_$$arch$$ext" || exit 1; fi; \
	done

# Each program for Windows has them, also one of a plain "go build". Those for users
# then get the version.
RESOURCES = $(PACKAGING)/windows/resources/resources.json
resources: ## write the icon and the manifest of programs for Windows into cmd/bcdissect
	$(GO) run $(WINRES) make --in $(RESOURCES) --arch 386,amd64,arm64 --out cmd/bcdissect/rsrc

# The second build is of a copy in another folder, and compiles everything anew:
# only the source, the version and the compiler may show in the program.
repro: web ## build twice, from scratch and in different folders, and compare (a minute)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	mkdir "$$dir/copy" && cp -R cmd decode dissect report go.mod go.sum LICENSE Makefile "$$dir/copy" && \
	$(BUILD) -o "$$dir/here" ./cmd/bcdissect && \
	(cd "$$dir/copy" && export GOCACHE="$$dir/cache" && $(MAKE) --no-print-directory web && $(BUILD) -o "$$dir/there" ./cmd/bcdissect) && \
	cmp "$$dir/here" "$$dir/there" && echo "repro: two builds of $(VERSION) are the same"

# The manual comes from the same description of the commands as their --help. Its
# writer is compiled in beside the program's own files, with its dependencies in
# a copy of go.mod; packaging/man/go.mod gives the reason.
man: ## write the manual, a page for each command, into dist/man
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	cp go.mod go.sum "$$dir" && rm -rf dist/man && mkdir -p dist/man && \
	echo '{"Replace": {"cmd/bcdissect/man.go": "$(PACKAGING)/man/man.go"}}' >"$$dir/overlay.json" && \
	SOURCE_DATE_EPOCH=$(PACKAGE_TIME) $(GO) run -overlay "$$dir/overlay.json" -mod=mod -modfile "$$dir/go.mod" ./cmd/bcdissect dist/man

packages: build cross man licence-texts engine-parts ## make archives, deb, rpm, installer, formula, manifest and checksums in dist/packages
	@rm -rf dist/completions && mkdir -p dist/completions
	@bin/bcdissect completion bash >dist/completions/bcdissect.bash
	@bin/bcdissect completion zsh >dist/completions/_bcdissect
	@bin/bcdissect completion fish >dist/completions/bcdissect.fish
	@bin/bcdissect completion powershell >dist/completions/bcdissect.ps1
	@installer=$(PACKAGING)/windows/installer.sh; \
	if ! command -v makensis >/dev/null; then \
		echo "make: no installer for Windows: makensis (Debian's package is nsis) is not installed" >&2; installer=; \
	fi; \
	$(GO) run ./$(PACKAGING)/release -tag '$(VERSION)' -version '$(PACKAGE_VERSION)' -time $(PACKAGE_TIME) -nfpm $(NFPM) -installer "$$installer"
	@cat dist/packages/SHA256SUMS

# The engine is the only part with cgo. It is linked with neither Lua nor Wireshark:
# the same file is for all versions of both. It takes a C compiler of its system:
# these have packages in Debian (gcc-mingw-w64-x86-64, gcc-aarch64-linux-gnu).
HOST = $(shell $(GO) env GOHOSTOS)/$(shell $(GO) env GOHOSTARCH)
ENGINE = if [ $$p = $(HOST) ]; then cc=$$($(GO) env CC); else \
		case $$p in windows/amd64) cc=$(MINGW) ;; linux/arm64) cc=$(ARM64CC) ;; *) cc= ;; esac; fi; \
	ext=so; if [ $${p%/*} = windows ]; then ext=dll; fi; \
	if [ -z "$$cc" ]; then \
		echo "make: no engine for $$p: it takes a C compiler there" >&2; \
	elif ! command -v $${cc%% *} >/dev/null; then \
		echo "make: no engine for $$p: $${cc%% *} is not installed" >&2; \
	else \
		echo "engine $$p" && mkdir -p "$$to" && \
		GOOS=$${p%/*} GOARCH=$${p\#*/} CC=$$cc CGO_ENABLED=1 $(GO) build -buildmode=c-shared -trimpath -buildvcs=false -ldflags '-s -w' \
			-o "$$to/bcdissect-engine.$$ext" ./cmd/engine && rm -f "$$to/bcdissect-engine.h" || exit 1; \
	fi
MINGW ?= x86_64-w64-mingw32-gcc
ARM64CC ?= aarch64-linux-gnu-gcc

wireshark-engine: ## the library with which Wireshark shows all fields of raw captures, into bin/ (needs a C compiler)
	@for p in $(HOST) windows/amd64; do to=bin; $(ENGINE); done

# Packages hold the engines that could be built here.
engine-parts:
	@rm -rf dist/engine; for p in $(PLATFORMS); do to=dist/engine/$${p%/*}_$${p#*/}; $(ENGINE); done

licence-texts: ## write the licences of all that is linked into dist/licences.txt and, for Debian, dist/copyright
	@$(GO) run ./$(PACKAGING)/licences -text dist/licences.txt -debian dist/copyright -base $(PACKAGING)/copyright

package-check: ## build the packages of this system twice, compare them, and try them
	@ACTIONLINT=$(ACTIONLINT) WINRES=$(WINRES) $(PACKAGING)/check.sh

# On standard error the tool only complains that it cannot look up web pages. It
# finds no standard library, and so lists nothing, if it is built with -trimpath.
licences: ## list the modules in the program with their licences in docs/licences.md
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for os in $(LINTOS); do \
		$(GO) run -trimpath=false -exec "env GOOS=$$os" $(LICENCES) report --ignore github.com/bcdissect --template docs/licences.tpl ./cmd/bcdissect \
			>>"$$dir/rows" 2>"$$dir/errors" || { cat "$$dir/errors" >&2; exit 1; }; \
	done && \
	grep -q . "$$dir/rows" && sed '/^|---/q' docs/licences.md >"$$dir/page" && grep . "$$dir/rows" | LC_ALL=C sort -u >>"$$dir/page" && \
	cp "$$dir/page" docs/licences.md

# The tool reads the build information in a program, and lists folders.
sbom: cross ## write a CycloneDX bill of materials for each program in dist/ (the first run builds the tool, in minutes)
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	for f in dist/bcdissect_*; do \
		case "$$f" in *.json) continue ;; esac; \
		rm -rf "$$dir"/* && cp "$$f" "$$dir" && echo "sbom $$f.cdx.json" && \
		$(GO) run $(SCALIBR) -root "$$dir" -plugins go/binary -offline \
			-cdx-component-name bcdissect -cdx-component-type application -cdx-component-version '$(VERSION)' \
			-o "cdx-json=$$f.cdx.json" >"$$dir/said" 2>&1 || { cat "$$dir/said" >&2; exit 1; }; \
	done

clean: ## remove built files
	rm -rf bin dist cover.out

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
