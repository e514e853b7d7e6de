package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/shimquake/shimquake/foreign"
	"github.com/shimquake/shimquake/quote"
)

// HistoryFile is the name of the file with the Kept in a folder of evidence.
const HistoryFile = "history.json"

// HistoryFormat is the version of a history's JSON form. It changes if an older program
// would misread the new form, and if a key is removed.
const HistoryFormat = 6

// Kept is a history in a file, with the verdict about it: a JSON object
//
//	{"shimquake": "history", "format": 5, "digest": "...", "verdict": {...}, "history": {...}}
//
// The verdict is from the shimquake that ran the case. Another version may judge the
// history differently. The digest covers the history, so that DecodeKept refuses an
// edited one.
type Kept struct {
	Verdict Verdict
	History History
}

type keptText struct {
	Shimquake string          `json:"shimquake"`
	Format    int             `json:"format"`
	Digest    string          `json:"digest"`
	Verdict   json.RawMessage `json:"verdict"`
	History   json.RawMessage `json:"history"`
}

// maxValues limits the number of JSON values of a history. A case whose client requests
// statuses all the time has 100,000.
const maxValues = 1_000_000

// maxLog limits the records of a history. mostEntries limits the records apart from hits,
// and the entries of all other lists with the same key. Entries up to one limit are
// judged in 300 MB and 2 s. A kept history has up to 1,534 hits, 5 instances, and 597
// entries in other lists.
const maxLog, mostEntries = 100_000, 20_000

// maxInstances and maxPairs limit the instances, and the pairs of an instance and a hit.
// Some rules look at all hits for each instance.
const maxInstances, maxPairs = 1_000, 5_000_000

// checkEntries returns an error that names a list with too many entries.
func checkEntries(text []byte) error {
	counts := foreign.CountEntries(text)
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		most := mostEntries
		if key == "log" {
			most = maxLog
		}
		if counts[key] > most {
			return fmt.Errorf("the history has %d entries in %s, and at most %d are read", counts[key],
				quote.Line(key), most)
		}
	}
	return nil
}

// marker identifies a JSON object as a Kept.
const marker = "history"

// Encode returns the JSON form, in one line.
func (k Kept) Encode() ([]byte, error) {
	history, err := json.Marshal(k.History)
	if err != nil {
		return nil, fmt.Errorf("encode a history: %w", err)
	}
	verdict, err := json.Marshal(k.Verdict)
	if err != nil {
		return nil, fmt.Errorf("encode a verdict: %w", err)
	}
	text, err := json.Marshal(keptText{marker, HistoryFormat, digest(history), verdict, history})
	if err != nil {
		return nil, fmt.Errorf("encode a history: %w", err)
	}
	return append(text, '\n'), nil
}

// DecodeKept reads the JSON form. Its errors are of type *InputError, and have one line.
// They report a text that is incomplete, was edited, has another format, or is not a
// history.
func DecodeKept(name string, text []byte) (Kept, error) {
	fail := func(format string, args ...any) (Kept, error) {
		return Kept{}, &InputError{File: name, Err: fmt.Errorf(format, args...)}
	}
	if err := foreign.CheckJSON("the history", text, maxValues); err != nil {
		return Kept{}, &InputError{File: name, Err: err}
	}
	var t keptText
	if err := json.Unmarshal(text, &t); err != nil {
		return Kept{}, &InputError{File: name, Err: notWhole(err)}
	}
	if err := checkEntries(text); err != nil {
		return fail("%w", err)
	}
	switch {
	case t.Shimquake != marker:
		return fail("this is not a history of shimquake: the JSON lacks \"shimquake\": %q", marker)
	case t.Format != HistoryFormat:
		return fail("the history has format %d, and this shimquake reads %d: use the version that wrote it",
			t.Format, HistoryFormat)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.History); err != nil {
		return fail("the history is incomplete: %w", err)
	}
	if got := digest(compact.Bytes()); got != t.Digest {
		return fail("the history was changed after it was written: its digest is %s, not %s", got, quote.Line(t.Digest))
	}
	k, err := t.decode()
	if err != nil {
		return fail("%w", err)
	}
	if err := k.History.check(); err != nil {
		return fail("%w", err)
	}
	return k, nil
}

// decode reads the history and the verdict. An unknown key of the history is an error,
// because a newer shimquake may need it for its rules.
func (t keptText) decode() (k Kept, err error) {
	if err := strict(t.History, &k.History); err != nil {
		return k, fmt.Errorf("the history cannot be decoded: %w", err)
	}
	if err := json.Unmarshal(t.Verdict, &k.Verdict); err != nil {
		return k, fmt.Errorf("the verdict cannot be decoded: %w", err)
	}
	return k, nil
}

// EachKept reads histories, one JSON object after the other, and calls visit for each.
func EachKept(name string, from io.Reader, visit func(Kept) error) error {
	bounded := foreign.NewReader("the history", from, MaxHistory)
	d := json.NewDecoder(bounded)
	for n := 1; ; n++ {
		bounded.ResetLimit()
		var text json.RawMessage
		err := d.Decode(&text)
		if errors.Is(err, io.EOF) && n > 1 {
			return nil
		}
		at := name
		if n > 1 {
			at = fmt.Sprintf("%s, history %d", name, n)
		}
		if err != nil {
			return &InputError{File: at, Err: notWhole(err)}
		}
		k, err := DecodeKept(at, text)
		if err == nil {
			err = visit(k)
		}
		if err != nil {
			return err
		}
	}
}

// notWhole returns a one-line error for a text that is not a complete JSON object.
func notWhole(err error) error {
	if long := (*foreign.LimitError)(nil); errors.As(err, &long) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file is empty, or its end is missing: it has no complete history")
	}
	return fmt.Errorf("this is not a history, which is JSON that `shimquake run --keep` writes: %w", err)
}

// strict reads JSON, and refuses unknown fields.
func strict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// check returns an error for values that no run writes. The rules of the judge would
// panic on some of them.
func (h *History) check() error {
	if n, hits := len(h.Instances), len(h.Hits); n > maxInstances || n*hits > maxPairs {
		return fmt.Errorf("the history has %d instances and %d hits: at most %d instances are read,"+
			" and %d pairs of both", n, hits, maxInstances, maxPairs)
	}
	others := -len(h.Hits)
	for _, c := range columns {
		others += c.len(h)
	}
	if others > mostEntries {
		return fmt.Errorf("the history has %d records apart from hits, and at most %d are read", others, mostEntries)
	}
	if slices.ContainsFunc(h.Calls, func(c Call) bool { return c.Took < 0 }) ||
		slices.ContainsFunc(h.Observed, func(o Observed) bool { return o.Took < 0 }) ||
		slices.ContainsFunc(h.Stalls, func(s Stall) bool { return s.For < 0 }) {
		return errors.New("a duration in calls, observed or stalls is negative")
	}
	flushed := Flushed{}
	if h.Flushed != nil {
		flushed = *h.Flushed
	}
	for _, list := range []struct {
		name         string
		flushed, all int
	}{
		{"events", flushed.Events, len(h.Events)}, {"hits", flushed.Hits, len(h.Hits)},
		{"reported", flushed.Reported, len(h.Reported)},
	} {
		if list.flushed < 0 || list.flushed > list.all {
			return fmt.Errorf("flushed.%s is %d, but the list has %d entries", list.name, list.flushed, list.all)
		}
	}
	for _, f := range h.Firings {
		if f.Fault < -1 || f.Fault >= len(h.Case.Plan) {
			return fmt.Errorf("firing %q is about fault %d, but the plan has %d faults", f.Text, f.Fault, len(h.Case.Plan))
		}
	}
	for _, c := range h.Calls {
		if c.Unprovoked && c.Err == nil {
			return fmt.Errorf("call %s is marked as unprovoked, but has no error", c.Verb)
		}
	}
	return nil
}
