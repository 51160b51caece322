// swift-tools-version: 6.1

import PackageDescription

let package = Package(
    name: "NotesServer",
    platforms: [.macOS(.v14)],
    dependencies: [
        // In a server of your own: .package(url: "…", from: "…", traits: ["Services"]).
        .package(name: "MigrationKit", path: "../..", traits: ["Services"]),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.0.0"),
    ],
    targets: [
        .executableTarget(
            name: "notes-server",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "MigrationKitKeys", package: "MigrationKit"),
                .product(name: "MigrationKitService", package: "MigrationKit"),
            ],
            path: "Sources"
        )
    ],
    swiftLanguageModes: [.v6]
)
