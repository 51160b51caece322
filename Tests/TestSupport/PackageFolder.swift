import Foundation

/// The folder of the package whose tests run.
public enum PackageFolder {
    private static let url = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The path of what has this name, or this relative path, in the folder.
    public static func path(_ name: String) -> String {
        url.appendingPathComponent(name).path
    }

    /// The folder of the Notes example's migrations.
    public static let notesMigrations = path("Examples/Notes/migrations")
}
