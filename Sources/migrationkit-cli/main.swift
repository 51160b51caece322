import MigrationKitCLI

MigrationCLI.main(host: .standalone)
