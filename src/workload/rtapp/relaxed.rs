//! The JSON that rt-app's own files are written in, made strict.
//!
//! Comments are blanked, commas before a closing bracket too, and a key without a value gets an empty
//! text. Line numbers stay as they are.

/// Returns strict JSON that means the same.
pub(super) fn strict(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut open: Vec<char> = Vec::new();
    // Where the last comma stands in `out`, as long as only blanks have followed it.
    let mut comma: Option<usize> = None;
    // A text stands where a key belongs, and nothing but blanks has followed it.
    let mut bare_key = false;
    let mut before = '{';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '/' && matches!(rest.peek(), Some('/' | '*')) {
            comment(&mut rest, &mut out);
            continue;
        }
        if c.is_whitespace() {
            out.push(c);
            continue;
        }
        if bare_key && matches!(c, ',' | '}') {
            out.push_str(": \"\"");
        }
        bare_key = false;
        match c {
            '{' | '[' => open.push(c),
            '}' | ']' => {
                open.pop();
                if let Some(place) = comma {
                    out.replace_range(place..=place, " ");
                }
            }
            _ => {}
        }
        comma = (c == ',').then_some(out.len());
        out.push(c);
        if c == '"' {
            string(&mut rest, &mut out);
            bare_key = open.last() == Some(&'{') && matches!(before, '{' | ',');
        }
        before = c;
    }
    out
}

type Rest<'a> = std::iter::Peekable<std::str::Chars<'a>>;

/// Leaves out a comment, except for the ends of its lines.
fn comment(rest: &mut Rest<'_>, out: &mut String) {
    let long = rest.next() == Some('*');
    out.push(' ');
    while let Some(c) = rest.next() {
        if c == '\n' {
            out.push(c);
        }
        if (long && c == '*' && rest.peek() == Some(&'/')) || (!long && c == '\n') {
            if long {
                rest.next();
            }
            return;
        }
    }
}

/// Copies the rest of a text.
fn string(rest: &mut Rest<'_>, out: &mut String) {
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '\\' => out.extend(rest.next()),
            '"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(relaxed: &str, expected: &str) {
        let squeeze = |t: &str| t.split_whitespace().collect::<String>();
        assert_eq!(squeeze(&strict(relaxed)), squeeze(expected));
    }

    #[test]
    fn comments_and_last_commas_go_and_bare_keys_get_a_value() {
        is("{ /* a, b */ \"x\" : 1, // c\n }", r#"{"x":1}"#);
        is(r#"{ "x" : [1, 2, ], }"#, r#"{"x":[1,2]}"#);
        is(r#"{ "suspend", "run" : 3 }"#, r#"{"suspend":"","run":3}"#);
        is(r#"{ "run" : 3, "suspend" }"#, r#"{"run":3,"suspend":""}"#);
        is(r#"{ "x" : "a, /* no comment */ }" }"#, r#"{"x":"a, /* no comment */ }"}"#);
        is(r#"{ "x" : ["a", "b"] }"#, r#"{"x":["a","b"]}"#);
        is(r#"{ "x" : "say \"no\"," }"#, r#"{"x":"say \"no\","}"#);
    }

    #[test]
    fn lines_keep_their_numbers() {
        let relaxed = "{\n/* one\ntwo */\n\"x\" : 1,\n}";
        assert_eq!(strict(relaxed).lines().count(), relaxed.lines().count());
    }

    #[test]
    fn unfinished_texts_and_comments_end_with_the_file() {
        for text in ["/*", "\"abc", "\"abc\\", "//", "{ /* ", "{,", "}]"] {
            strict(text);
        }
    }
}
