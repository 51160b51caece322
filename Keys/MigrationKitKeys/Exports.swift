// `KeyStoreError.code` is an `ErrorCode`: an app that imports this needs no further import for it.
@_exported import MigrationKitCommon
