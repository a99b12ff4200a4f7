//! Decimal numbers out of bytes: whole words at a time where the text allows it.

const ZEROS: u64 = 0x3030_3030_3030_3030;

/// Returns the value and the length of the run of decimal digits at the start of `s`.
///
/// Runs of more than 19 digits give `u64::MAX`; every limit check refuses that.
#[inline]
pub fn digits(s: &[u8]) -> (u64, usize) {
    let mut value = 0u64;
    let mut n = 0;
    for &b in s {
        let d = b.wrapping_sub(b'0');
        if d > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(d));
        n += 1;
    }
    (if n > 19 { u64::MAX } else { value }, n)
}

/// Returns the number that fills `s` completely, sign allowed, decimal or `0x` hexadecimal.
pub fn whole(s: &[u8]) -> Option<i64> {
    let (negative, s) = match s.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, s),
    };
    let value = if let Some(hex) = s.strip_prefix(b"0x") {
        let text = std::str::from_utf8(hex).ok()?;
        if !hex.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        // Return probes print signed values as the unsigned register.
        u64::from_str_radix(text, 16).ok()? as i64
    } else {
        let (value, n) = digits(s);
        if n == 0 || n != s.len() {
            return None;
        }
        i64::try_from(value).ok()?
    };
    Some(if negative { value.wrapping_neg() } else { value })
}

/// Returns the unsigned number that fills `s` completely and is at most `limit`.
#[inline]
pub fn at_most(s: &[u8], limit: u64) -> Option<u64> {
    let (value, n) = digits(s);
    (n > 0 && n == s.len() && value <= limit).then_some(value)
}

/// Returns a process number, or None; `-1` (never seen by the tracer) is a process number.
#[inline]
pub fn pid(s: &[u8]) -> Option<i32> {
    let (value, n) = digits(s);
    if n > 0 && n == s.len() {
        return i32::try_from(value).ok();
    }
    (s == b"-1").then_some(-1)
}

/// Value of 8 digits at once, or None if one of the bytes is no digit.
#[inline(always)]
pub fn eight(word: u64) -> Option<u64> {
    // High nibble 3 and low nibble at most 9 in every byte.
    let high = word & 0xF0F0_F0F0_F0F0_F0F0;
    let carry = word.wrapping_add(0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0;
    if high != ZEROS || carry != ZEROS {
        return None;
    }
    Some(eight_digits(word))
}

/// Value of 8 bytes that are known to be digits.
#[inline(always)]
pub fn eight_digits(word: u64) -> u64 {
    let v = word.wrapping_sub(ZEROS);
    let v = v.wrapping_mul(10).wrapping_add(v >> 8) & 0x00FF_00FF_00FF_00FF;
    let v = v.wrapping_mul(100).wrapping_add(v >> 16) & 0x0000_FFFF_0000_FFFF;
    v.wrapping_mul(10_000).wrapping_add(v >> 32) & 0xFFFF_FFFF
}

/// Returns the first 6 bytes as microseconds, if they are digits and 8 bytes can be looked at.
#[inline(always)]
pub fn six(s: &[u8]) -> Option<u64> {
    let word = u64::from_le_bytes(*s.first_chunk::<8>()?);
    eight(word << 16 | ZEROS & 0xFFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_at_once_equal_the_digit_loop() {
        for v in [0u64, 1, 10, 999_999, 123_456, 100_000, 900_009] {
            let text = format!("{v:06}: x");
            assert_eq!(six(text.as_bytes()), Some(v));
        }
        for bad in ["12345: xx", "1234/6: x", "12345:: x", "a23456: x", "123 56: x"] {
            assert_eq!(six(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn numbers_must_fill_their_field() {
        assert_eq!(whole(b"54999"), Some(54_999));
        assert_eq!(whole(b"-3"), Some(-3));
        assert_eq!(whole(b"0xffffffffffffffff"), Some(-1));
        assert_eq!(whole(b"0x"), None);
        assert_eq!(whole(b"+5"), None);
        assert_eq!(whole(b"12a"), None);
        assert_eq!(whole(b"99999999999999999999"), None);
        assert_eq!(at_most(b"65536", 65_535), None);
        assert_eq!(pid(b"-1"), Some(-1));
        assert_eq!(pid(b"4294967296"), None);
    }
}
