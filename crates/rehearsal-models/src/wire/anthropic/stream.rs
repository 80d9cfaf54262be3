//! Answers that come in pieces.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::block::{Block, TextBlock, ThinkingBlock, ToolUseBlock};
use super::error::error_in;
use super::response::{Response, Usage};
use crate::wire::tagged::tagged;
use crate::wire::{Delta, Field, SseEvent, WireError, parse, sse, tool_text};

tagged! {
    /// One event of a stream.
    pub enum Event {
        /// The answer begins.
        "message_start" => MessageStart(MessageStart),
        /// A block begins.
        "content_block_start" => BlockStart(BlockStart),
        /// More of a block.
        "content_block_delta" => BlockDelta(BlockDeltaEvent),
        /// A block ends.
        "content_block_stop" => BlockStop(BlockStop),
        /// What is known of the answer only at its end.
        "message_delta" => MessageDelta(MessageDeltaEvent),
    }
}

/// The answer begins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageStart {
    /// The answer without its content.
    pub message: Response,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A block begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockStart {
    /// Its number.
    pub index: u64,
    /// The block without what follows in pieces.
    pub content_block: Block,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// More of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BlockDeltaEvent {
    /// Which block.
    pub index: u64,
    /// What is added.
    pub delta: BlockDelta,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A block ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockStop {
    /// Which block.
    pub index: u64,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is known of the answer only at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageDeltaEvent {
    /// What changes in the answer.
    pub delta: MessageChange,
    /// What it cost up to now.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub usage: Field<Usage>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What changes in an answer at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageChange {
    /// Why it stopped.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop_reason: Field<String>,
    /// The text that ended the answer, if one did.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub stop_sequence: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

tagged! {
    /// What is added to a block.
    pub enum BlockDelta {
        /// More text.
        "text_delta" => Text(TextDelta),
        /// More of a call's arguments.
        "input_json_delta" => Json(JsonDelta),
        /// More reasoning.
        "thinking_delta" => Thinking(ThinkingDelta),
        /// The signature of the reasoning.
        "signature_delta" => Signature(SignatureDelta),
    }
}

/// More text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TextDelta {
    /// The text.
    pub text: String,
}

/// More of a call's arguments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JsonDelta {
    /// A piece of JSON text.
    pub partial_json: String,
}

/// More reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThinkingDelta {
    /// The reasoning.
    pub thinking: String,
}

/// The signature of the reasoning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SignatureDelta {
    /// The signature.
    pub signature: String,
}

/// Puts a streamed answer together.
///
/// Events and deltas of kinds that are not known here are passed over, as the API's reference asks of clients.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    response: Option<Response>,
    blocks: BTreeMap<u64, Building>,
    is_done: bool,
}

#[derive(Clone, Debug)]
struct Building {
    block: Block,
    json: String,
    is_complete: bool,
}

impl Assembler {
    /// Takes the data of the next event, and gives what it adds that can be shown.
    ///
    /// # Errors
    /// It is not an event of this API, comes out of order, or reports an error.
    pub fn push(&mut self, data: &str) -> Result<Vec<Delta>, WireError> {
        if self.is_done {
            return Ok(Vec::new());
        }
        let body: Value = parse("an event of the stream is not JSON", data)?;
        if let Some(error) = error_in(&body) {
            return Err(error);
        }
        let event: Event = rehearsal_core::json::from_value(body).map_err(|error| {
            WireError::malformed(format!("an event of the stream is not as it should be: {error}"))
        })?;
        self.take(event)
    }

    /// Whether the stream said that it is complete.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The whole answer.
    ///
    /// # Errors
    /// The stream ended too early, or a call's arguments are not JSON.
    pub fn finish(self) -> Result<Response, WireError> {
        let (true, Some(mut response)) = (self.is_done, self.response) else {
            return Err(WireError::cut_off("it ended without `message_stop`"));
        };
        if response.stop_reason.text().is_none() {
            return Err(WireError::cut_off("it gave no reason for stopping"));
        }
        for (index, mut building) in self.blocks {
            if !building.is_complete {
                return Err(WireError::cut_off(format!("block {index} was never completed")));
            }
            match &mut building.block {
                _ if building.json.is_empty() => {}
                Block::ToolUse(block) => {
                    // What is no object says so where the block is read.
                    block.input = tool_text::read(&building.json);
                }
                Block::Other(block) => {
                    let (input, unreadable) = tool_text::read_arguments(&building.json);
                    if let Some(why) = unreadable {
                        let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
                        return Err(WireError::malformed(format!("the call of `{name}`: {why}")));
                    }
                    block.insert("input".to_owned(), Value::Object(input));
                }
                _ => {}
            }
            response.content.push(building.block);
        }
        Ok(response)
    }

    fn take(&mut self, event: Event) -> Result<Vec<Delta>, WireError> {
        match event {
            Event::MessageStart(start) => {
                self.response = Some(start.message);
                Ok(Vec::new())
            }
            Event::BlockStart(start) => {
                let said = shown(&start.content_block);
                let building =
                    Building { block: start.content_block, json: String::new(), is_complete: false };
                self.blocks.insert(start.index, building);
                Ok(said.into_iter().collect())
            }
            Event::BlockDelta(more) => {
                let building = self.open_block(more.index)?;
                building.add(more.delta).map(|said| said.into_iter().collect())
            }
            Event::BlockStop(stop) => {
                self.open_block(stop.index)?.is_complete = true;
                Ok(Vec::new())
            }
            Event::MessageDelta(change) => self.change(change).map(|()| Vec::new()),
            Event::Other(other) => {
                self.is_done = other.get("type").and_then(Value::as_str) == Some("message_stop");
                Ok(Vec::new())
            }
        }
    }

    fn open_block(&mut self, index: u64) -> Result<&mut Building, WireError> {
        match self.blocks.get_mut(&index) {
            Some(building) if !building.is_complete => Ok(building),
            Some(_) => {
                Err(WireError::malformed(format!("the stream goes on with block {index} after its end")))
            }
            None => {
                Err(WireError::malformed(format!("the stream goes on with block {index} before its start")))
            }
        }
    }

    fn change(&mut self, event: MessageDeltaEvent) -> Result<(), WireError> {
        let response = self.response.as_mut();
        let response = response
            .ok_or_else(|| WireError::malformed("the stream changes an answer that has not begun"))?;
        if !event.delta.stop_reason.is_missing() {
            response.stop_reason = event.delta.stop_reason;
        }
        if !event.delta.stop_sequence.is_missing() {
            response.stop_sequence = event.delta.stop_sequence;
        }
        response.extra.extend(event.delta.extra);
        if let Some(usage) = event.usage.into_value() {
            response.usage.get_or_insert_default().update(usage);
        }
        Ok(())
    }
}

impl Building {
    fn add(&mut self, delta: BlockDelta) -> Result<Option<Delta>, WireError> {
        match (&mut self.block, delta) {
            (Block::Text(block), BlockDelta::Text(more)) => {
                block.text.push_str(&more.text);
                Ok(Some(Delta::Text(more.text)))
            }
            (Block::Thinking(block), BlockDelta::Thinking(more)) => {
                block.thinking.push_str(&more.thinking);
                Ok(Some(Delta::Thought(more.thinking)))
            }
            (Block::Thinking(block), BlockDelta::Signature(more)) => {
                block.signature.get_or_insert_default().push_str(&more.signature);
                Ok(None)
            }
            (Block::ToolUse(_) | Block::Other(_), BlockDelta::Json(more)) => {
                self.json.push_str(&more.partial_json);
                Ok(None)
            }
            (Block::Text(block), BlockDelta::Other(more)) => {
                if let Some(citation) = more.get("citation") {
                    let citations = block.extra.entry("citations").or_insert(Value::Null);
                    match citations {
                        Value::Array(list) => list.push(citation.clone()),
                        other => *other = Value::Array(vec![citation.clone()]),
                    }
                }
                Ok(None)
            }
            (_, BlockDelta::Other(_)) => Ok(None),
            (block, delta) => Err(WireError::malformed(format!(
                "the stream adds `{}` to a block of kind `{}`",
                delta.kind(),
                block.kind()
            ))),
        }
    }
}

impl Usage {
    /// The counts at the end are for the whole answer; those that are not given there stay.
    fn update(&mut self, later: Self) {
        let fields = [
            (&mut self.input_tokens, later.input_tokens),
            (&mut self.output_tokens, later.output_tokens),
            (&mut self.cache_read_input_tokens, later.cache_read_input_tokens),
            (&mut self.cache_creation_input_tokens, later.cache_creation_input_tokens),
        ];
        for (kept, later) in fields {
            if later.value().is_some() {
                *kept = later;
            }
        }
        if later.output_tokens_details.value().is_some() {
            self.output_tokens_details = later.output_tokens_details;
        }
        self.extra.extend(later.extra);
    }
}

fn shown(block: &Block) -> Option<Delta> {
    match block {
        Block::Text(block) if !block.text.is_empty() => Some(Delta::Text(block.text.clone())),
        Block::Thinking(block) if !block.thinking.is_empty() => Some(Delta::Thought(block.thinking.clone())),
        _ => None,
    }
}

impl Response {
    /// The answer as a stream of events.
    pub fn to_events(&self) -> Vec<SseEvent> {
        let mut usage = self.usage.clone();
        if let Some(usage) = usage.value_mut() {
            usage.output_tokens = 0.into();
            usage.output_tokens_details = Field::Missing;
        }
        let message = Self {
            content: Vec::new(),
            stop_reason: Field::Null,
            stop_sequence: Field::Null,
            usage,
            ..self.clone()
        };
        let mut events = vec![named(&Event::MessageStart(MessageStart { message, extra: Map::new() }))];
        for (index, block) in (0..).zip(&self.content) {
            block_events(index, block, &mut events);
        }
        let delta = MessageChange {
            stop_reason: self.stop_reason.clone(),
            stop_sequence: self.stop_sequence.clone(),
            extra: Map::new(),
        };
        let usage = self.usage.value().map(|usage| Usage {
            output_tokens: usage.output_tokens,
            output_tokens_details: usage.output_tokens_details.clone(),
            ..Usage::default()
        });
        events.push(named(&Event::MessageDelta(MessageDeltaEvent {
            delta,
            usage: usage.into(),
            extra: Map::new(),
        })));
        events.push(SseEvent::named("message_stop", r#"{"type":"message_stop"}"#));
        events
    }
}

fn block_events(index: u64, block: &Block, events: &mut Vec<SseEvent>) {
    let (start, deltas): (Block, Vec<BlockDelta>) = match block {
        Block::Text(block) => (
            Block::Text(TextBlock { text: String::new(), extra: block.extra.clone() }),
            sse::words(&block.text)
                .map(|text| BlockDelta::Text(TextDelta { text: text.to_owned() }))
                .collect(),
        ),
        Block::Thinking(block) => {
            let words = sse::words(&block.thinking);
            let mut deltas: Vec<_> =
                words.map(|text| BlockDelta::Thinking(ThinkingDelta { thinking: text.to_owned() })).collect();
            if let Some(signature) = block.signature.text() {
                deltas.push(BlockDelta::Signature(SignatureDelta { signature: signature.to_owned() }));
            }
            let signature = if block.signature.is_missing() { Field::Missing } else { "".into() };
            (
                Block::Thinking(ThinkingBlock {
                    thinking: String::new(),
                    signature,
                    extra: block.extra.clone(),
                }),
                deltas,
            )
        }
        Block::ToolUse(block) => {
            let json = rehearsal_core::json::text(&block.input);
            let start = ToolUseBlock { input: Value::Object(Map::new()), ..block.clone() };
            let fragments = sse::fragments(&json);
            let deltas = fragments
                .map(|piece| BlockDelta::Json(JsonDelta { partial_json: piece.to_owned() }))
                .collect();
            (Block::ToolUse(start), deltas)
        }
        other => (other.clone(), Vec::new()),
    };
    events.push(named(&Event::BlockStart(BlockStart { index, content_block: start, extra: Map::new() })));
    for delta in deltas {
        events.push(named(&Event::BlockDelta(BlockDeltaEvent { index, delta, extra: Map::new() })));
    }
    events.push(named(&Event::BlockStop(BlockStop { index, extra: Map::new() })));
}

fn named(event: &Event) -> SseEvent {
    SseEvent { event: Some(event.kind().to_owned()), ..SseEvent::json(event) }
}
