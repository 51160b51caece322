/// A new file could not be made or put in its place.
package struct NewFileError: Error, Equatable {
    /// The path that the system refused.
    package let path: String

    /// Why, as an errno: `EEXIST` if the place is taken.
    package let code: Int32

    /// Whether the file is in its place all the same: the folder's entry of it may not be on the
    /// disk.
    package let isPlaced: Bool

    package init(_ path: String, _ code: Int32, isPlaced: Bool = false) {
        self.path = path
        self.code = code
        self.isPlaced = isPlaced
    }
}
