package harness

import "time"

// Outputs describes what a client read from a process's standard output and standard
// error.
type Outputs struct {
	Stdout Output `json:"stdout"`
	Stderr Output `json:"stderr"`
	// Overwritten reports whether the log file lost its earlier content. LoggerRuns reports
	// whether the logger process still ran after the deletion of the process that it logs.
	Overwritten bool `json:"overwritten,omitempty"`
	LoggerRuns  bool `json:"loggerRuns,omitempty"`
	// LoggedAs is the container that the shim named to the logger, as NAMESPACE/ID. It is ""
	// if no logger has exited.
	LoggedAs string `json:"loggedAs,omitempty"`
}

// Output describes the numbered lines that a client read. The numbers begin with 1.
type Output struct {
	// Last is the highest number read, and LastAt the time at which the payload wrote that
	// line.
	Last   int       `json:"last"`
	LastAt time.Time `json:"lastAt,omitzero"`
	// Holes are the missing lines below Last.
	Holes []MissingLines `json:"holes,omitempty"`
	// Repeated counts the lines that came twice or out of order. Foreign counts the lines
	// that the payload cannot have written.
	Repeated int `json:"repeated,omitempty"`
	Foreign  int `json:"foreign,omitempty"`
	// Cut reports whether only a part of the line after Last came.
	Cut bool `json:"cut,omitempty"`
	// Misdated counts the lines with an impossible time in CRI's log. Such a time is before
	// the payload wrote the line, before the previous line's time, or in the future.
	Misdated int `json:"misdated,omitempty"`
}

// MissingLines is a range of missing lines, From to To.
type MissingLines struct {
	From int `json:"from"`
	To   int `json:"to"`
	// After and Before are the times at which the lines around the hole were written.
	After  time.Time `json:"after,omitzero"`
	Before time.Time `json:"before,omitzero"`
}

// MissingOf returns the missing lines of a payload that had written so many lines at a
// time.
func (o Output) MissingOf(lines int, by time.Time) []MissingLines {
	holes := append([]MissingLines(nil), o.Holes...)
	if lines > o.Last {
		holes = append(holes, MissingLines{From: o.Last + 1, To: lines, After: o.LastAt, Before: by})
	}
	return holes
}
