package oracle

// accessReasons say who may do what with a file.
func accessReasons(fs Facts) []string {
	mode := "its mode is " + fs[FactMode]
	switch fs[FactAccess] {
	case AnyWrites:
		return []string{mode, "everybody may write to it"}
	case AnyEnters:
		return []string{mode, "it is root's alone, or its group's"}
	}
	return []string{"it is user " + fs[FactReported] + "'s, and should be root's"}
}
