package quote

import (
	"net/url"
	"regexp"
	"strings"
)

// Markdown returns the text as one line that Markdown shows as it is, also in a table's
// cell. A zero-width space after each @, # and GH- keeps GitHub from making a link,
// mention or reference. Renovate does the same.
func Markdown(text string) string {
	text = markdown.Replace(strings.TrimLeft(Line(text), " "))
	if at := listMark.FindStringIndex(text); at != nil {
		return text[:at[1]-1] + `\` + text[at[1]-1:]
	}
	return text
}

// listMark is the beginning of a line that would be a list, a rule or a heading.
var listMark = regexp.MustCompile(`^([-+=]|[0-9]+[.)])`)

var markdown = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;",
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "!", `\!`, "|", `\|`, "~", `\~`, "$", `\$`,
	"://", `\://`, "www.", `www\.`,
	"@", "@&#8203;", "#", "#&#8203;", "GH-", "GH-&#8203;",
)

// Code returns the text as a code span, in which Markdown and GitHub interpret nothing.
// In a table a | would end the cell all the same. An empty text is no span.
func Code(text string) string {
	text = Line(text)
	if text == "" {
		return ""
	}
	fence := ticks(text, 1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") ||
		strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		pad = " " // Markdown takes one space away on each side
	}
	return fence + pad + text + pad + fence
}

// Fence returns a text of several lines as a block of code, whose fence no line of the
// text can end.
func Fence(language, text string) string {
	fence := ticks(text, 3)
	return fence + language + "\n" + Block(strings.TrimSpace(text), "") + "\n" + fence + "\n"
}

// ticks returns least backticks, or more: more than the text has in a row.
func ticks(text string, least int) string {
	fence := strings.Repeat("`", least)
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence
}

// Path returns the address of a file for a link. The address has no scheme and no host,
// whatever the file's name is.
func Path(file string) string {
	if rest := strings.TrimLeft(file, "/"); rest != file {
		file = "/" + rest // two slashes would begin a host
	}
	return (&url.URL{Path: file}).String()
}
