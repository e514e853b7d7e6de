package scan

import (
	"fmt"
	"time"
)

// Budget limits how long a Tree is read, and how many entries of folders with containers
// are read. A nil Budget has no limits.
type Budget struct {
	begun   time.Time
	until   time.Time
	entries int // how many may still be read
	most    int
	at      func(name string)
	cut     *CutError
}

// NewBudget returns a Budget that ends at a time, or after a number of entries
// NAMESPACE/ID. It calls at with the name of each file before the file is opened.
func NewBudget(until time.Time, entries int, at func(name string)) *Budget {
	return &Budget{begun: time.Now(), until: until, entries: entries, most: entries, at: at}
}

// CutError reports that a Budget ended before everything was read.
type CutError struct {
	Path string // the first file that was not read
	Why  string // "more than 20000 entries"
}

func (e *CutError) Error() string { return fmt.Sprintf("reading was cut at %s: %s", e.Path, e.Why) }

// Cut returns the CutError of the first read that the Budget refused, or nil.
func (b *Budget) Cut() error {
	if b == nil || b.cut == nil {
		return nil
	}
	return b.cut
}

// open returns an error if the time is over.
func (b *Budget) open(name string) error {
	if b == nil {
		return nil
	}
	if now := time.Now(); b.cut == nil && now.After(b.until) {
		b.cut = &CutError{name, fmt.Sprintf("it took more than %s", max(b.until.Sub(b.begun), 0).Round(time.Millisecond))}
	}
	if b.cut == nil {
		b.at(name)
	}
	return b.Cut()
}

// take takes an entry of a folder from the Budget.
func (b *Budget) take(dir string) error {
	if b == nil {
		return nil
	}
	if b.entries--; b.entries < 0 && b.cut == nil {
		b.cut = &CutError{dir, fmt.Sprintf("more than %d entries", b.most)}
	}
	return b.Cut()
}
