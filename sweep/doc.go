// Package sweep runs one Case for each point that a workload passes and each action that the point takes, and tells what the release leaves
// behind: as findings of a whole window of points, not as a list of cases.
//
// A sweep is a [Plan] (what runs, in a fixed order, with a digest), a journal (what came of it, a line a case, as it comes) and a [Report] (made
// of nothing but these two). So a sweep can be killed and resumed, split over machines and merged, and gives the same report.
package sweep
