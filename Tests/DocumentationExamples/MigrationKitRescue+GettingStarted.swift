import MigrationKitKeys
import MigrationKitGRDB
import MigrationKitRescue
import MigrationKitSQLCipher

// The code of Sources/MigrationKitRescue/MigrationKitRescue.docc/GettingStarted.md.

func recover(_ path: String, key: DatabaseKey, to output: String) throws {
    let checks = try DatabaseVerification(path, form: .encrypted(key)).run()
    for check in checks where !check.ok {
        print(check.name, check.findings.map(\.text))
    }
    let report = try DatabaseSalvage(path, to: output, form: .encrypted(key)).run()
    print("recovered \(report.tables.count) tables into \(output)")
}
