//! Server-sent events, as far as MCP uses them.

/// Reads events from the bytes of a stream, however they are cut.
#[derive(Debug, Default)]
pub(super) struct Events {
    line: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed belongs to it.
    after_return: bool,
    data: Option<String>,
    /// The id of the last event that had one.
    pub(super) last_id: Option<String>,
    /// How long the server wants us to wait before we come back, in milliseconds.
    pub(super) retry: Option<u64>,
}

impl Events {
    /// Takes bytes; gives the data of the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut complete = Vec::new();
        for byte in bytes {
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    complete.extend(self.take(&String::from_utf8_lossy(&line)));
                }
                byte => self.line.push(*byte),
            }
        }
        complete
    }

    /// Reads another stream that goes on where this one ended.
    pub(super) fn resumed(self) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::default() }
    }

    /// How many bytes are held of what is not complete.
    pub(super) fn held(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn take(&mut self, line: &str) -> Option<String> {
        if line.is_empty() {
            return self.data.take().filter(|data| !data.trim().is_empty());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "id" => self.last_id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().or(self.retry),
            // A comment, the name of an event, or what a later edition adds.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let stream = "id: 7\r\nretry: 20\r\ndata:\r\n\r\n: ping\n\nevent: message\ndata: {\"ä\":\ndata:  1}\n\ndata: x\r\r";
        for size in [1, 2, 3, 1000] {
            let mut events = Events::default();
            let found: Vec<String> =
                stream.as_bytes().chunks(size).flat_map(|piece| events.feed(piece)).collect();
            assert_eq!(found, ["{\"ä\":\n 1}", "x"], "cut into pieces of {size}");
            assert_eq!((events.last_id.as_deref(), events.retry), (Some("7"), Some(20)));
        }
    }
}
