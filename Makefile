# What a newcomer needs: `make demo`, `make check` and `make test`.

SWIFT ?= swift
PREFIX ?= /usr/local
TOOL = .build/release/migrationkit-cli
# More options of the linker for `make build`, such as those of `make wheel`.
LINK ?=
# More options of the builds that aren't optimised, such as those of `.ci/run`.
BUILD_OPTIONS ?=

.PHONY: demo check test build bench format format-check docs install \
	deb tarball wheel release clean

## Sets up, builds, and migrates a real encrypted database with a key from the secret store.
demo:
	Scripts/bootstrap
	$(SWIFT) build $(BUILD_OPTIONS) --product migrationkit-cli
	BUILD_OPTIONS='$(BUILD_OPTIONS)' Scripts/demo

# The targets whose tests start daemons, kill processes, or compare with the `sqlcipher` shell.
LONG_TESTS = EndToEndTests|MigrationKitSQLCipherTests|PowerCutTests|SecretServiceTests

## Sets up and runs the quick tests, which need nothing that only `make test` installs.
check:
	Scripts/bootstrap
	$(SWIFT) build $(BUILD_OPTIONS) --build-tests
	SKIP_OTHER_PROGRAMS=1 SWIFT="$(SWIFT)" Scripts/run-tests --skip '^($(LONG_TESTS))\.'

## Sets up and runs all tests, or those that the regular expression ONLY matches.
test:
	Scripts/bootstrap --tests
	$(SWIFT) build $(BUILD_OPTIONS) --build-tests
	SWIFT="$(SWIFT)" Scripts/run-tests $(if $(ONLY),--filter '$(ONLY)',--halves)

## Builds the tool for use: optimised, with the Swift runtime inside, and without the functions that
## nothing calls. Paths in C++'s assertions and Swift's hashes of modules for incremental builds are left
## out, since they depend on the folder.
build:
	Scripts/bootstrap
	$(SWIFT) build -c release --static-swift-stdlib --disable-local-rpath -Xlinker --strip-all \
		-Xswiftc -Xfrontend -Xswiftc -function-sections -Xcc -ffunction-sections -Xcc -fdata-sections \
		-Xlinker --no-export-dynamic -Xlinker --icf=safe \
		-Xcc -ffile-prefix-map='$(CURDIR)=.' \
		-Xswiftc -Xfrontend -Xswiftc -disable-incremental-llvm-codegen --product migrationkit-cli \
		$(LINK)

## Measures against other tools; one workload or several with ONLY="W1 W5".
bench: build
	Scripts/bootstrap --bench
	$(SWIFT) build -c release --package-path Benchmarks/Probe \
		$(if $(wildcard .build/engine),-Xlinker -L$(CURDIR)/.build/engine)
	Benchmarks/run $(ONLY)

## Installs the tool, its manual, and what shells complete its commands with. Run it as yourself:
## only the copying is done with sudo, and only where PREFIX isn't yours to write.
install: $(if $(SUDO_USER),$(TOOL),build)
	Scripts/install-tool $(TOOL) $(DESTDIR)$(PREFIX)

# Under sudo the tool is copied as it is. If it must be built, the user who called sudo builds it: root
# may have no Swift on its PATH, and files of root's in .build would stop the user's next build.
ifneq ($(SUDO_USER),)
$(TOOL): Package.swift $(shell find Sources Keys -type f)
	sudo -i -u $(SUDO_USER) $(MAKE) -C '$(CURDIR)' build
endif

## A Debian package in .build/packages. The tarball has the same for other systems.
deb tarball: build
	Scripts/bootstrap --packages
	Scripts/package $@

## A wheel for pip in .build/packages. Its tool has libcrypto inside, since not every system has the
## version that it needs; a folder with nothing but the archive makes the linker take that.
wheel:
	Scripts/bootstrap --packages
	mkdir -p .build/static
	ln -sf "$$(pkg-config --variable=libdir libcrypto)/libcrypto.a" .build/static/libcrypto.a
	$(MAKE) build LINK='-Xlinker -L$(CURDIR)/.build/static'
	Scripts/package wheel

## All that a release consists of, with its digests, if the checkout can be released.
release:
	Scripts/package check
	$(MAKE) wheel
	$(MAKE) deb tarball
	cd .build/packages && sha256sum *

format:
	$(SWIFT) format --in-place --parallel --recursive Package.swift Sources Keys Tests Examples

format-check:
	$(SWIFT) format lint --strict --parallel --recursive Package.swift Sources Keys Tests Examples

## The documentation as a site, for a server's top or for the path that BASE names.
docs:
	Scripts/bootstrap --docs
	Scripts/docs $(BASE)

clean:
	rm -rf .build .build-docs
