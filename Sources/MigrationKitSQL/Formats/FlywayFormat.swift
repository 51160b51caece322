/// `V1__name.sql`, which applies the step, and `U1__name.sql`, which takes it back.
///
/// A version may have several numbers: `V1.2__name.sql`, `V1_2__name.sql`.
/// <https://documentation.red-gate.com/fd/versioned-migrations-273973333.html>; refinery has the
/// former: <https://docs.rs/refinery>.
enum FlywayFormat {
    static func name(_ name: String) -> MigrationFileName? {
        guard let first = name.utf8.first, [UInt8(ascii: "V"), UInt8(ascii: "U")].contains(first),
            let match = name.wholeMatch(
                of: /([VU])([0-9]+(?:[._][0-9]+)*)__.+\.(?:sql|SQL)/
            ),
            let version = MigrationVersion(of: match.2, separators: "._")
        else { return nil }
        return MigrationFileName(
            path: name,
            layout: .flyway,
            role: match.1 == "V" ? .up : .down,
            identifier: String(name.dropLast(".sql".count)),
            version: version
        )
    }

    static func parts(up: SQLOutline, down: SQLOutline?) throws -> MigrationParts {
        try UpOnlyFormat.checkForOtherMarkers(up)
        return MigrationParts(
            up: try .init(whole: up),
            down: try down.map { try .init(whole: $0) },
            usesTransaction: true
        )
    }
}
