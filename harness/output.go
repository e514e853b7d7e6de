package harness

import "time"

// Outputs are what was read of a process's standard output and standard error.
type Outputs struct {
	Stdout Output `json:"stdout"`
	Stderr Output `json:"stderr"`
	// Overwritten reports whether a file has lost what was in it before, LoggerRuns whether
	// a logger had not come to its end when the client heard that what it logs is deleted.
	Overwritten bool `json:"overwritten,omitempty"`
	LoggerRuns  bool `json:"loggerRuns,omitempty"`
	// LoggedAs is whose output a logger was told that it has, NAMESPACE/ID; "" where no
	// logger has come to its end.
	LoggedAs string `json:"loggedAs,omitempty"`
}

// Output is what was read of numbered lines, which begin with 1.
type Output struct {
	// Last is the number of the last line, and LastAt when it was written.
	Last   int       `json:"last"`
	LastAt time.Time `json:"lastAt,omitzero"`
	// Holes are the lines that are missing before the last.
	Holes []Hole `json:"holes,omitempty"`
	// Repeated counts the lines that came twice or out of order, Foreign those that no
	// payload writes.
	Repeated int `json:"repeated,omitempty"`
	Foreign  int `json:"foreign,omitempty"`
	// Cut reports whether a part of the line after the last is all that has come of it.
	Cut bool `json:"cut,omitempty"`
	// Misdated counts those to which a log gives a time before they were written, or before
	// that of the line before.
	Misdated int `json:"misdated,omitempty"`
}

// Hole is some lines that are missing.
type Hole struct {
	From int `json:"from"`
	To   int `json:"to"`
	// After and Before are when the lines around the hole were written.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
}

// MissingOf are the lines that are not there of so many, which were written by a time.
func (o Output) MissingOf(lines int, by time.Time) []Hole {
	holes := append([]Hole(nil), o.Holes...)
	if lines > o.Last {
		holes = append(holes, Hole{From: o.Last + 1, To: lines, After: o.LastAt, Before: by})
	}
	return holes
}
