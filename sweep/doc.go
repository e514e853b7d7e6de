// Package sweep runs the cases of a plan. For each cluster of findings it finds the
// simplest case that shows it.
//
// A sweep is a [plan.Plan], a journal with a line for the result of each case, and a
// [triage.Report] of these two. So a sweep can be killed and resumed, split over machines
// and merged, and gives the same report.
//
// The packages, each of which imports only packages of the lines above it:
//
//	plan     what a sweep runs        pairs   pairs of faults, which single ones cannot reach
//	journal  the results              triage  signatures, clusters, known findings, the report
//	sweep    schedule, slots, minimiser
//	random   random plans             mutation  does the sweep find bugs?
package sweep
