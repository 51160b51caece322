// swift-tools-version: 6.1

import PackageDescription

// A package of its own, since everything in it, GRDB included, is built for libFuzzer:
// Scripts/fuzz.
let package = Package(
    name: "Fuzzing",
    platforms: [.macOS(.v13)],
    dependencies: [.package(name: "MigrationKit", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "Fuzz",
            dependencies: [.product(name: "MigrationKitSQL", package: "MigrationKit")]
        )
    ],
    swiftLanguageModes: [.v6]
)
