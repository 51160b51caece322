import Glibc

/// Whole memory pages of a secret's own: locked, left out of core dumps and of forked children.
///
/// Pages aren't shared with anything else, since locks and dump rules hold for whole pages and
/// locks don't nest (mlock(2)).
struct SecretPages {
    let base: UnsafeMutableRawPointer
    let byteCount: Int

    /// Maps zeroed pages for at least `capacity` bytes.
    init(capacity: Int) {
        precondition(capacity >= 0, "a secret's size can't be negative")
        let page = Int(sysconf(Int32(_SC_PAGESIZE)))
        byteCount = max(1, (capacity + page - 1) / page) * page
        let mapped = mmap(
            nil,
            byteCount,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )
        // Out of memory ends the process, as it does for every other allocation of Swift's.
        guard let mapped, mapped != MAP_FAILED else { fatalError("no memory for a secret") }
        base = mapped
        // All three fail soft. The lock has a limit (RLIMIT_MEMLOCK, often 8 MB, 64 KB on older
        // systems): past it a secret may be swapped out, which is no reason to refuse the work.
        mlock(base, byteCount)
        madvise(base, byteCount, Int32(MADV_DONTDUMP))
        madvise(base, byteCount, Int32(MADV_WIPEONFORK))
    }

    /// Wipes and unmaps the pages.
    func release() {
        explicit_bzero(base, byteCount)
        munmap(base, byteCount)
    }
}
