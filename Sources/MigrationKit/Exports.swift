// `MigrationKitError.code` is an `ErrorCode`: an app that imports this needs no second import for it.
@_exported import MigrationKitCommon
