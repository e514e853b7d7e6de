package harness

import "time"

// Outputs holds what was read of a process's standard output and standard error.
type Outputs struct {
	Stdout Output `json:"stdout"`
	Stderr Output `json:"stderr"`
	// Overwritten reports whether a log file lost its earlier content. LoggerRuns reports
	// whether a logger still ran after the deletion of the process that it logs.
	Overwritten bool `json:"overwritten,omitempty"`
	LoggerRuns  bool `json:"loggerRuns,omitempty"`
	// LoggedAs is the process that the shim named to the logger, NAMESPACE/ID. It is "" if
	// no logger has ended.
	LoggedAs string `json:"loggedAs,omitempty"`
}

// Output describes numbered lines that were read. The numbers begin with 1.
type Output struct {
	// Last is the number of the last line, and LastAt the time at which it was written.
	Last   int       `json:"last"`
	LastAt time.Time `json:"lastAt,omitzero"`
	// Holes are the missing lines before the last.
	Holes []Hole `json:"holes,omitempty"`
	// Repeated counts the lines that came twice or out of order. Foreign counts the lines
	// that no payload writes.
	Repeated int `json:"repeated,omitempty"`
	Foreign  int `json:"foreign,omitempty"`
	// Cut reports whether the line after the last came only in part.
	Cut bool `json:"cut,omitempty"`
	// Misdated counts the lines with a wrong time in the log: before the line was written,
	// or before the time of the previous line.
	Misdated int `json:"misdated,omitempty"`
}

// Hole is a range of missing lines.
type Hole struct {
	From int `json:"from"`
	To   int `json:"to"`
	// After and Before are the times at which the lines around the hole were written.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
}

// MissingOf returns the missing lines, if a number of lines was written by a time.
func (o Output) MissingOf(lines int, by time.Time) []Hole {
	holes := append([]Hole(nil), o.Holes...)
	if lines > o.Last {
		holes = append(holes, Hole{From: o.Last + 1, To: lines, After: o.LastAt, Before: by})
	}
	return holes
}
