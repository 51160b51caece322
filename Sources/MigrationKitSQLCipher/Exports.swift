// Settings of a cipher, the errors of a file and `Cancellation` stand in this library's own functions:
// an app that imports it needs no second import for them.
@_exported import MigrationKit
@_exported import MigrationKitPages
