package read

import (
	"regexp"
	"strings"
	"unicode"
)

// Limits of a report. The rest is counted, but not read.
const (
	MaxBytes    = 4 << 20
	longestLine = 16 << 10
	maxLines    = 200_000
	maxJoined   = 6 // lines into which a terminal may have broken one
)

// line is a line without colours, Markdown marks and the prefix of a journal.
type line struct {
	n    int
	text string // trimmed
	// prompt is the typed command, if the line is one.
	prompt string
	joined int // the number of lines after it that were joined to it
}

var (
	ansi  = regexp.MustCompile(`\x1b(\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[()][A-Z0-9])`)
	mark  = regexp.MustCompile(`^(\s{0,3}>\s?)+`)
	fence = regexp.MustCompile("^\\s*(```|~~~)")
	// A prompt and the typed command.
	prompt = regexp.MustCompile(
		`^(?:\[?[\w.-]+@[\w.-]+[: ][^$#\]]*\]?\s?|[\w.-]+[: ][~/][^$# ]* ?|-?(?:ba)?sh-[\d.]+|/ )?[$#]\s+` +
			`((?:sudo\s+(?:-\w+\s+)*)?(?:watch\s.*|while\s.*|for\s.*|[a-z][\w./-]*(?:[\s;|&].*)?))$`)
	bare = regexp.MustCompile(
		`^((?:sudo\s+)?(?:ctr|crictl|docker|ps|ls|systemctl|journalctl|kubectl|kill|lsof|ss|mount|dpkg|rpm|` +
			`runc|pgrep|pstree|nerdctl|findmnt)\s+(?:-|\w|/).*|containerd\s+-.*)$`)
)

// lines returns the lines of a text, and the number of bytes that were not read.
func lines(text string) (out []line, cut int) {
	if len(text) > MaxBytes {
		cut, text = len(text)-MaxBytes, text[:MaxBytes]
	}
	n := 0
	for part := range strings.SplitSeq(text, "\n") {
		n++
		if n > maxLines {
			cut += len(part) + 1
			continue
		}
		if i := strings.LastIndexByte(strings.TrimRight(part, "\r"), '\r'); i >= 0 { // a progress bar that was redrawn
			part = strings.TrimRight(part, "\r")[i+1:]
		}
		if len(part) > longestLine {
			cut += len(part) - longestLine
			part = part[:longestLine]
		}
		if l, ok := clean(n, part); ok {
			out = append(out, inSentence(l)...)
		}
	}
	return join(out), cut
}

// quoted matches a piece of output of several words within a sentence: `root 41 ...
// containerd-shim`.
var quoted = regexp.MustCompile("`([^`]+ [^`]+)`|; ")

// inSentence splits a sentence that contains output, as in a chat. The words and each
// piece of output become lines of their own.
func inSentence(l line) []line {
	before, _, has := strings.Cut(l.text, "`")
	if !has || l.prompt != "" || strings.ContainsAny(before, `"={`) { // a log has quotes, too
		return []line{l}
	}
	var out []line
	add := func(text string) {
		if part, ok := clean(l.n, text); ok {
			out = append(out, part)
		}
	}
	from := 0
	for _, at := range quoted.FindAllStringSubmatchIndex(l.text, -1) {
		add(l.text[from:at[0]])
		if at[2] >= 0 {
			add(l.text[at[2]:at[3]])
		}
		from = at[1]
	}
	if from == 0 {
		return []line{l}
	}
	add(l.text[from:])
	return out
}

// clean returns a line without the additions of a terminal, a mail or Markdown. It
// returns false for an empty line.
func clean(n int, text string) (line, bool) {
	text = strings.ToValidUTF8(text, "�")
	text = ansi.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case r == '\u00a0' || r == '\u2007' || r == '\u202f': // the blanks of web pages
			return ' '
		case r == '\u200b' || r == '\ufeff' || unicode.IsControl(r):
			return -1
		}
		return r
	}, text)
	text = strings.TrimRight(mark.ReplaceAllString(text, ""), " ")
	if strings.TrimSpace(text) == "" || fence.MatchString(text) {
		return line{}, false
	}
	l := line{n: n, text: strings.TrimSpace(text)}
	if m := prompt.FindStringSubmatch(l.text); m != nil {
		l.prompt = m[1]
	} else if m := bare.FindStringSubmatch(l.text); m != nil && isCommand(m[1]) {
		l.prompt = m[1]
	}
	return l, true
}

// isCommand tells a typed command from a sentence that begins with the same word.
func isCommand(text string) bool {
	return len(text) < 300 && !strings.HasSuffix(text, ".") && !strings.Contains(text, ", ") &&
		!strings.Contains(text, " shows") && !strings.Contains(text, " is ") && !strings.Contains(text, "level=")
}

// join joins lines that a narrow terminal or a mail has broken: a logged message with
// open quotes, and the arguments of a shim.
func join(all []line) []line {
	var out []line
	for i := 0; i < len(all); i++ {
		l := all[i]
		for l.joined < maxJoined && i+1 < len(all) && continues(l, all[i+1]) {
			i++
			l.joined++
			l.text += blank(l.text, all[i].text) + all[i].text
		}
		out = append(out, l)
	}
	return out
}

var halfID = regexp.MustCompile(`[0-9a-f]{8,63}$`)

// blank returns the text at a line break: a blank, or "" within an id.
func blank(before, next string) string {
	end, begin := halfID.FindString(before), startsHex.FindString(next)
	if end != "" && len(end)+len(begin) == len(sandboxID) && begin != "" {
		return ""
	}
	return " "
}

// sandboxID is as long as the ids that CRI and docker generate.
const sandboxID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var startsHex = regexp.MustCompile(`^[0-9a-f]+`)

var (
	beginsRecord = regexp.MustCompile(`^(time="|\{"|[A-Z][a-z]{2}\s+\d|\d{4}-\d\d-\d\d|[IWEF]\d{4} |PID|UID|root\s)`)
	shimArgument = regexp.MustCompile(`^(-address|-id|-namespace|/usr/\S*/containerd-shim\S*|` +
		`/run/\S*containerd\S*\.sock)\b`)
)

func continues(l, next line) bool {
	if next.prompt != "" || beginsRecord.MatchString(next.text) {
		return false
	}
	if strings.Contains(l.text, "level=") && strings.Contains(l.text, `msg="`) {
		return openQuote(l.text)
	}
	return strings.Contains(l.text, "containerd-shim") && shimArgument.MatchString(next.text) && !wholeShim(l.text)
}

// wholeShim reports whether a shim's command line is complete.
func wholeShim(text string) bool {
	args := shimArgs(text)
	return args.Namespace != "" && args.ID != "" && args.Address != ""
}

// openQuote reports whether a quoted text does not end on the line.
func openQuote(text string) bool {
	open := false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			open = !open
		}
	}
	return open
}
