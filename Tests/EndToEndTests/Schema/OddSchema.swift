/// A schema whose names mean something to everything that they pass through.
enum OddSchema {
    static let sql = """
        CREATE TABLE "order details" (
            id INTEGER PRIMARY KEY,
            "a <b> & ""c"" {d}" INT REFERENCES "weird ""quoted"" <table>{x|y}" ("pk"),
            "pk" TEXT, "fk col" "VARCHAR(20, 3)", noType, "ünïcode-名前" TEXT UNIQUE,
            "back\\slash\\" DECIMAL(10, 2), "" TEXT, "1st" TEXT, "a;b#c%d`e*f*" TEXT,
            "two
        lines" TEXT, "bell\u{7}" TEXT
        );
        CREATE TABLE "weird ""quoted"" <table>{x|y}" (
            "pk" INTEGER PRIMARY KEY NOT NULL, x TEXT, y TEXT, UNIQUE (x, y)
        );
        CREATE TABLE class (id INTEGER PRIMARY KEY, "end" TEXT, title TEXT NOT NULL REFERENCES title);
        CREATE TABLE title (id TEXT PRIMARY KEY);
        CREATE TABLE "" (id INTEGER);
        CREATE TABLE "表" (id INTEGER REFERENCES "nowhere; at all" (x), __init__ TEXT, "%% x" TEXT);
        CREATE TABLE __bold__ (
            x PRIMARY KEY, y, self REFERENCES __bold__,
            FOREIGN KEY (x, y) REFERENCES "weird ""quoted"" <table>{x|y}" (x, y)
        );
        CREATE TABLE u (id INTEGER PRIMARY KEY REFERENCES TITLE);
        CREATE TABLE "tail\\" (id INTEGER REFERENCES u);
        CREATE TABLE "&amp; #35;" ("&lt;" TEXT);
        CREATE TABLE "only one" (b TEXT UNIQUE);
        CREATE TABLE one_table ("to" TEXT REFERENCES "only one" (b));
        """

    /// The names of its tables, and of the one that is referred to and isn't there, as they are to
    /// be seen.
    static let tables = [
        "order details", #"weird "quoted" <table>{x|y}"#, "class", "title", "\"\"", "表", "__bold__",
        "u", "tail\\", "&amp; #35;", "only one", "one_table", "nowhere; at all",
    ]

    /// The names of columns that are hard to write, as they are to be seen.
    static let columns = [
        #"a <b> & "c" {d}"#, "pk", "fk col", "ünïcode-名前", "back\\slash\\", "1st", "a;b#c%d`e*f*",
        "two lines", "bell\u{FFFD}", "__init__", "%% x", "&lt;",
    ]
}
