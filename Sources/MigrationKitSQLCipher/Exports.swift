// This library's own functions use keys and key stores, cipher settings, file errors and `Cancellation`.
// An app that imports it needs no further import for them.
@_exported import MigrationKit
@_exported import MigrationKitKeys
@_exported import MigrationKitPages
