package catalogue

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/semver"
)

// recorded is the output of `shimquake matrix --signatures`: one Signature per line.
//
//go:embed signatures.jsonl
var recorded []byte

// Signature has the log statements of containerd that a bug's case executed on a release,
// and that the same case without its fault did not.
type Signature struct {
	Bug     string `json:"bug"`
	Release string `json:"release"`
	// Keys are log statements and error codes, sorted. Package repro/signature makes them.
	Keys []string `json:"keys"`
}

var signatures = sync.OnceValue(func() map[string][]Signature {
	all, err := ReadSignatures(bytes.NewReader(recorded))
	if err != nil {
		panic(err) // the data is embedded in the program
	}
	of := map[string][]Signature{}
	for _, s := range all {
		of[s.Bug] = append(of[s.Bug], s)
	}
	return of
})

// Signatures returns the bug's signatures, the oldest release first.
func (b Bug) Signatures() []Signature { return signatures()[b.ID] }

// Logs returns the keys of the bug's signatures on releases with the same minor version.
// If there are none, or release is "", it returns the keys of all its signatures.
func (b Bug) Logs(release string) (keys []string) {
	all := b.Signatures()
	same := func(s Signature) bool { return semver.MajorMinor(s.Release) == semver.MajorMinor(release) }
	if release != "" && slices.ContainsFunc(all, same) {
		all = slices.DeleteFunc(slices.Clone(all), func(s Signature) bool { return !same(s) })
	}
	for _, s := range all {
		keys = append(keys, s.Keys...)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Rarity returns how rare a key is in the catalogue: 1 if one bug logs it, 0 if all bugs
// with a signature do.
func Rarity(key string) float64 {
	of, all := keyCounts()[key], len(signatures())
	if of == 0 || all < 2 {
		return 1
	}
	return math.Log(float64(all)/float64(of)) / math.Log(float64(all))
}

// keyCounts has the number of bugs that log a key, on any release.
var keyCounts = sync.OnceValue(func() map[string]int {
	of := map[string]int{}
	for id := range signatures() {
		for _, key := range (Bug{ID: id}).Logs("") {
			of[key]++
		}
	}
	return of
})

// RarestKeys returns at most so many log statements and errors of the bug's newest
// signature, the rarest in the catalogue first. It leaves out short ones, such as
// "task %s: %w", because a search for them finds unrelated lines.
func (b Bug) RarestKeys(most int) (keys []string) {
	all := b.Signatures()
	if len(all) == 0 {
		return nil
	}
	for _, key := range all[len(all)-1].Keys {
		kind, format, _ := strings.Cut(key, " ")
		if kind != "code" && words(format) > 2 && Rarity(key) > 0.3 {
			keys = append(keys, key)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(Rarity(b), Rarity(a)) })
	return keys[:min(most, len(keys))]
}

// words returns the number of words in a format string, without its verbs.
func words(format string) (n int) {
	for word := range strings.FieldsSeq(format) {
		if !strings.Contains(word, "%") {
			n++
		}
	}
	return n
}

// ReadSignatures parses the output of WriteSignatures.
func ReadSignatures(r io.Reader) (all []Signature, err error) {
	for lines := json.NewDecoder(r); lines.More(); {
		var s Signature
		if err := lines.Decode(&s); err != nil {
			return nil, fmt.Errorf("read the signatures of bugs: %w", err)
		}
		all = append(all, s)
	}
	return all, nil
}

// WriteSignatures writes one signature per line, sorted by bug and release. If two have
// the same bug and release, it writes only the later one.
func WriteSignatures(w io.Writer, all []Signature) error {
	last := map[[2]string]Signature{}
	for _, s := range all {
		last[[2]string{s.Bug, s.Release}] = s
	}
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	for _, s := range slices.SortedFunc(maps.Values(last), func(a, b Signature) int {
		return cmp.Or(cmp.Compare(a.Bug, b.Bug), semver.Compare(a.Release, b.Release))
	}) {
		s.Keys = append([]string{}, s.Keys...) // not null
		if err := lines.Encode(s); err != nil {
			return fmt.Errorf("write the signatures of bugs: %w", err)
		}
	}
	return nil
}
