package oracle

// whats are the values of FactWhat. Each has its words.
var whats = []string{
	OthersStart, OthersCall, OthersEnd, OthersStatus, OthersEvent, OthersOutput, OthersAnswer, Removal, NameFree,
	GoneFails, IDReuse, Boot, WrongList, Listing, Collection, Stats, Answer, ARestart, Shutdown, ShimGroup,
	ShimOOMScore, InitOOMScore, ShimEnded, Death, ALog, AFatalLog, ExecKept, ExecTaken, ExecOrphaned, AttachFailed,
	AttachOpen, ExecFailed, ExecUntimed, ExecEarly, ExecHangs, ExecKeeps, ExecLives, WrongOutput, WrongInput,
	InputOpen, InputEnded, InputShut, PIDsLeftOut, PIDsForeign, PIDsUntold, PIDsOfExecs, WindowSize, StateAs,
	StatePID, MeterAs, MeterPageAs, NoPIDYet, NotHeard, HeardNoMore, PausedAs, PausedRuns, ResumedAs, ResumedStands,
	ExecBurnt, ASlowCall, AHeldUpCall, WaitUnanswered, DoneTwice, AskedUnanswered, LateKillAs, KillHitsAnother,
	AbsentBegun, RefusedUnanswered, Baseline,
}
