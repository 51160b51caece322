// swift-tools-version: 6.1

import PackageDescription

let package = Package(
    name: "MigrationKit",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "MigrationKit", targets: ["MigrationKit"]),
        .library(name: "MigrationKitGRDB", targets: ["MigrationKitGRDB"]),
        .library(name: "MigrationKitSchema", targets: ["MigrationKitSchema"]),
        .library(name: "MigrationKitSQL", targets: ["MigrationKitSQL"]),
        .library(name: "MigrationKitLint", targets: ["MigrationKitLint"]),
        .library(name: "MigrationKitTestSupport", targets: ["MigrationKitTestSupport"]),
    ],
    // Who embeds the runner or a store says `traits: []`, and fetches only GRDB and swift-log.
    traits: [
        .trait(name: "Tool", description: "MigrationKitCLI and migrationkit-cli"),
        .trait(name: "Services", description: "MigrationKitService"),
        // One name, since SwiftPM passes several to the compiler in an order that depends on the
        // environment, and another order compiles everything anew.
        .trait(name: "Everything", description: "The default, for working on this package"),
        .default(enabledTraits: ["Everything"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.6.0"),
    ],
    targets: [
        // What every storey needs: codes of errors, a lock between processes, the making of new
        // files, threads.
        .target(name: "MigrationKitCommon"),
        .target(name: "MigrationKit", dependencies: ["MigrationKitCommon"]),
        .target(
            name: "MigrationKitGRDB",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKit",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // What a schema is: read, compared, drawn, changed; a database's content against it.
        .target(
            name: "MigrationKitSchema",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKit",
                "MigrationKitGRDB",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        .systemLibrary(name: "CLibCrypto", providers: [.apt(["libssl-dev"])]),
        .target(
            name: "MigrationKitSQL",
            dependencies: [
                // Apple's platforms have CryptoKit.
                .target(name: "CLibCrypto", condition: .when(platforms: [.linux])),
                "MigrationKitCommon",
                "MigrationKit",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]
        ),
        // Runs migrations on a scratch database, and reports what they would lose.
        .target(
            name: "MigrationKitLint",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitSQL",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            // The rules' pages, a link to those of the documentation.
            resources: [.embedInCode("Pages")]
        ),
        // For the tests of those who embed the runner; works with Swift Testing and XCTest alike.
        // And the tests of a folder of SQL files.
        .target(
            name: "MigrationKitTestSupport",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSQL",
                "MigrationKitLint",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(name: "MigrationKitTests", dependencies: ["MigrationKit"]),
    ],
    swiftLanguageModes: [.v6]
)

// The encrypted rooms need SQLCipher and a Secret Service, and so they are for Linux. An app that
// shares its steps and its runner with Apple's platforms takes the products above.
#if os(Linux)
    package.products += [
        .library(name: "MigrationKitSQLCipher", targets: ["MigrationKitSQLCipher"]),
        .library(name: "MigrationKitRescue", targets: ["MigrationKitRescue"]),
        .library(name: "MigrationKitCLI", targets: ["MigrationKitCLI"]),
        .library(name: "MigrationKitService", targets: ["MigrationKitService"]),
        .library(name: "MigrationKitKeys", targets: ["MigrationKitKeys"]),
        .library(name: "SecretService", targets: ["SecretService"]),
        .executable(name: "migrationkit-cli", targets: ["migrationkit-cli"]),
    ]
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.2.0"),
    ]

    func tool(_ name: String, _ package: String) -> Target.Dependency {
        .product(name: name, package: package, condition: .when(traits: ["Tool", "Everything"]))
    }

    func services(_ name: String, _ package: String) -> Target.Dependency {
        .product(
            name: name,
            package: package,
            condition: .when(traits: ["Services", "Everything"])
        )
    }

    package.targets += [
        .systemLibrary(
            name: "CSQLCipher",
            providers: [.apt(["libsqlcipher-dev", "libssl-dev"])]
        ),
        // Refuses the functions that SQLCipher's archive lacks, which the system's SQLite would answer.
        .target(name: "CMissingFromSQLCipher"),
        // Reads, authenticates and writes the pages of a SQLCipher file.
        .target(
            name: "MigrationKitPages",
            dependencies: ["CLibCrypto", "MigrationKitCommon", "CSQLCipher", "MigrationKitKeys"]
        ),
        .target(
            name: "MigrationKitSQLCipher",
            dependencies: [
                "MigrationKitPages",
                "CMissingFromSQLCipher",
                "CSQLCipher",
                "MigrationKitCommon",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        // Files that may be damaged: a look inside, a full verification, and getting rows out.
        .target(
            name: "MigrationKitRescue",
            dependencies: [
                "MigrationKitPages",
                "CSQLCipher",
                "MigrationKitCommon",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitSQLCipher",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        // Many stores: which there are, working on them in parallel, and the report.
        .target(
            name: "MigrationKitFleet",
            dependencies: ["MigrationKitCommon", "MigrationKit"]
        ),
        .target(
            name: "MigrationKitCLI",
            dependencies: [
                "MigrationKitPages",
                "MigrationKitCommon",
                "MigrationKit",
                "MigrationKitFleet",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitLint",
                "MigrationKitRescue",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "MigrationKitTestSupport",
                "CKeyStore",
                "CLibCrypto",
                "CSQLCipher",
                "MigrationKitKeys",
                "SecretService",
                tool("ArgumentParser", "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
                tool("TOMLKit", "TOMLKit"),
            ],
            // A link to the page of the documentation.
            resources: [.embedInCode("Explain/Errors.md")]
        ),
        // Stores in a server: migrates, then serves; many stores; metrics and traces.
        .target(
            name: "MigrationKitService",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSQLCipher",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                services("ServiceLifecycle", "swift-service-lifecycle"),
                services("Metrics", "swift-metrics"),
                services("Tracing", "swift-distributed-tracing"),
            ]
        ),
        // Takes the place of 34 MB of Foundation, which the tool doesn't use.
        .target(name: "CWithoutICUData"),
        .executableTarget(
            name: "migrationkit-cli",
            dependencies: ["MigrationKitCLI", "CWithoutICUData"],
            // An empty archive takes the place of the libsqlite3 that GRDB's module asks for, so that
            // the tool doesn't need it at run time. Unsafe flags are for the tool alone: no package
            // could depend on a library that has them.
            linkerSettings: [.unsafeFlags(["-L\(Context.packageDirectory)/Sources/NoSystemSQLite"])]
        ),

        .target(name: "CKeyStore", path: "Keys/CKeyStore"),
        .target(
            name: "MigrationKitKeys",
            dependencies: ["MigrationKitCommon", "CKeyStore", "CLibCrypto"],
            path: "Keys/MigrationKitKeys"
        ),
        .target(name: "CLibSecret", path: "Keys/CLibSecret"),
        .target(
            name: "SecretService",
            dependencies: [
                "CKeyStore", "CLibCrypto", "CLibSecret", "MigrationKitKeys", "MigrationKitCommon",
            ],
            path: "Keys/SecretService"
        ),

        .testTarget(
            name: "MigrationKitSQLTests",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Corpus", "Fixtures"]
        ),
        .testTarget(
            name: "MigrationKitLintTests",
            dependencies: [
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitLint",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "MigrationKitKeys",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Cases", "PageExamples", "Stories"]
        ),
        .testTarget(
            name: "MigrationKitGRDBTests",
            dependencies: [
                "MigrationKitPages",
                "CSQLCipher",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                // The runner knows no encryption; its tests run it on encrypted files.
                "MigrationKitSQLCipher",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "MigrationKitTestSupportTests",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "MigrationKitTestSupport",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .executableTarget(
            name: "FirstLaunchProbe",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKitSQLCipher",
                "SecretService",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/FirstLaunchProbe"
        ),
        // The Swift code of the documentation, which must compile as it stands, with every import.
        .target(
            name: "DocumentationExamples",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitCLI",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitLint",
                "MigrationKitSQL",
                "MigrationKitRescue",
                "MigrationKitService",
                "MigrationKitSQLCipher",
                "MigrationKitTestSupport",
                "SecretService",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                services("ServiceLifecycle", "swift-service-lifecycle"),
                services("UnixSignals", "swift-service-lifecycle"),
            ],
            path: "Tests/DocumentationExamples",
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        ),
        .testTarget(
            name: "MigrationKitServiceTests",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitService",
                "MigrationKitSQLCipher",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                services("ServiceLifecycle", "swift-service-lifecycle"),
                services("ServiceLifecycleTestKit", "swift-service-lifecycle"),
                services("Metrics", "swift-metrics"),
                services("MetricsTestKit", "swift-metrics"),
                services("Tracing", "swift-distributed-tracing"),
                services("InMemoryTracing", "swift-distributed-tracing"),
            ]
        ),
        .executableTarget(
            name: "ServiceProbe",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitService",
                "MigrationKitSQLCipher",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                services("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            path: "Tests/ServiceProbe"
        ),
        // A program with a store of its own, and the commands for it.
        .executableTarget(
            name: "StoreToolProbe",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitCLI",
                "MigrationKitGRDB",
                "MigrationKitSQLCipher",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/StoreToolProbe"
        ),
        .testTarget(
            name: "MigrationKitCommonTests",
            dependencies: ["MigrationKitCommon", "TestSupport"]
        ),
        .testTarget(
            name: "MigrationKitSQLCipherTests",
            dependencies: [
                "MigrationKitPages",
                "CLibCrypto",
                "CSQLCipher",
                "MigrationKitCommon",
                "DocumentationExamples",
                "FirstLaunchProbe",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitLint",
                "MigrationKitRescue",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "MigrationKitTestSupport",
                "SecretService",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(
            name: "MigrationKitFleetTests",
            dependencies: ["MigrationKit", "MigrationKitFleet", "TestSupport"]
        ),
        .testTarget(
            name: "MigrationKitCLITests",
            dependencies: [
                "MigrationKitCommon",
                "MigrationKitKeys",
                "MigrationKit",
                "MigrationKitCLI",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                "MigrationKitLint",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "TestSupport",
                tool("ArgumentParser", "swift-argument-parser"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Sarif"]
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "CKeyStore",
                "MigrationKit",
                "MigrationKitGRDB",
                "MigrationKitSchema",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(
            name: "KeyStoreProbe",
            dependencies: ["MigrationKitKeys"],
            path: "Tests/KeyStoreProbe"
        ),
        .testTarget(
            name: "KeyStoreTests",
            dependencies: ["MigrationKitKeys", "KeyStoreProbe", "TestSupport"]
        ),
        .executableTarget(
            name: "SecretServiceProbe",
            dependencies: ["CLibSecret", "SecretService"],
            path: "Tests/SecretServiceProbe"
        ),
        .testTarget(
            name: "SecretServiceTests",
            dependencies: ["SecretService", "SecretServiceProbe", "TestSupport"]
        ),
        .executableTarget(
            name: "PlainMigratorProbe",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/PlainMigratorProbe"
        ),
        // Power cuts: what a run does to the disk, the states that a cut can leave, their judge.
        .target(
            name: "PowerCuts",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKitRescue",
                "MigrationKitSQLCipher",
                "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            path: "Tests/PowerCuts",
            // Compiled when it is needed, into a library that the tool is started with.
            exclude: ["FailingCalls"]
        ),
        .executableTarget(
            name: "PowerProbe",
            dependencies: [
                "MigrationKitKeys",
                "MigrationKitGRDB",
                "MigrationKitPages",
                "MigrationKitSQL",
                "MigrationKitSQLCipher",
                "PowerCuts",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            path: "Tests/PowerProbe"
        ),
        .testTarget(
            name: "PowerCutTests",
            dependencies: ["migrationkit-cli", "PowerCuts", "PowerProbe", "TestSupport"]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "FirstLaunchProbe", "migrationkit-cli", "PlainMigratorProbe", "ServiceProbe",
                "StoreToolProbe", "TestSupport",
            ],
            exclude: ["Snapshots"]
        ),
    ]

    // Where Scripts/engine puts a newer SQLCipher than the system's. Only programs are linked, so none
    // of our libraries has this setting, with which SwiftPM refuses a package as a dependency.
    for target in package.targets where [.executable, .test].contains(target.type) {
        let engine = "\(Context.packageDirectory)/.build/engine"
        target.linkerSettings = (target.linkerSettings ?? []) + [.unsafeFlags(["-L\(engine)"])]
    }
#endif
