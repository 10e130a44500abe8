# Everything a person or a machine does with the project. `make help` lists it.
SHELL := /bin/sh

.PHONY: help install build run check docs format test test-node22 test-node24 test-long bench audit clean
.DEFAULT_GOAL := help

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# On every use: packages that were installed with one version of Node.js do not run with every other.
install: ## Install the npm packages, where those that are there are older or of another Node.js
	@node scripts/node-version.mjs
	@node scripts/install.mjs

build: install ## Compile to dist/
	@node scripts/build.mjs

run: build ## Start the gateway with all it needs; Ctrl-C stops it
	@exec node dist/control/launch/main.js

check: install ## Types, contracts, lint, format, layering and documentation
	@node scripts/check.mjs

docs: install ## Write the generated pages of docs/reference/
	@node scripts/docs.mjs

format: install ## Format the sources
	@node_modules/.bin/biome check --write .

test: build ## Every test but the long ones; only="unit chat" picks folders or files
	@node scripts/system-packages.mjs redis chromium >/dev/null
	@node dist/test/run.js $(only)

test-node22: build ## The same under Node.js 22, with the newest clients
test-node24: build ## The same under Node.js 24, in a root of Debian 13 where glibc is too old for it
test-node22 test-node24:
	@node scripts/system-packages.mjs redis chromium >/dev/null
	@node scripts/test-node.mjs $(patsubst test-node%,%,$@) $(only)

test-long: build ## The long tests, those that kill parts, and more rounds of the property tests
	@node scripts/system-packages.mjs redis nginx haproxy >/dev/null
	@node scripts/system-packages.mjs caddy mmdebstrap bubblewrap patroni etcd postgresql >/dev/null || echo "tests of what is missing are skipped"
	@node dist/test/run.js long faults

bench: build ## Measure beside nginx, haproxy and Portkey, write bench/REPORT.md; args="--help" tells more
	@node scripts/system-packages.mjs redis nginx haproxy >/dev/null
	@node dist/bench/run.js $(args)

audit: build ## Check every invariant of the book that `make run` keeps
	@node scripts/sluice.mjs audit

clean: ## Remove what was built; data in .sluice/ stays
	rm -rf dist dist-node22 dist-node24 contract/wire/generated control/book/receipt/generated node_modules bench/portkey/node_modules \
		test/agents/node_modules test/nodes/22/node_modules test/nodes/24/node_modules bench/results/partial
