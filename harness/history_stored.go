package harness

// Stored is what one of containerd's stores has told a client that works with it as those
// do that pull and build images: what is true of it by what the client did before, and
// what the store says. A call that failed is among the calls.
type Stored struct {
	Key string `json:"key"` // of the content, the ingest, the snapshot or the lease
	// Of is what was asked: see the constants.
	Of   string `json:"of"`
	Is   string `json:"is"`
	Want string `json:"want"`
}

// What is asked of stores.
const (
	StoredContent  = "content"  // the digest of what is read back
	StoredCommit   = "commit"   // what came of the commit of an ingest, by the name of its code
	StoredIngest   = "ingest"   // whether it is listed
	StoredParent   = "parent"   // of a snapshot
	StoredRemoval  = "removal"  // what came of that of a snapshot, by the name of its code
	StoredSnapshot = "snapshot" // the code of its Stat: it is kept, or was by nobody for a while
	StoredKept     = "kept"     // the code of the content's Info, which a label keeps, or no more
	StoredLabels   = "labels"   // all labels that a Get of it has, after some were removed, too
	StoredListed   = "listed"   // how many of many snapshots a Walk tells
	StoredMounted  = "mounted"  // the code of the end of a mount that a lease has kept over a collection
	// StoredCollected is what came of the deletion of a lease that waits for the collection,
	// by the name of its code.
	StoredCollected = "collected"
)
