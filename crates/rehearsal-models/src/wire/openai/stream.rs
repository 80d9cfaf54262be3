//! Answers that come in pieces.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::error::error_in_answer;
use super::message::{FunctionText, MessageContent, ToolCall};
use super::response::{Choice, Response, Usage};
use crate::wire::{Delta, Field, SseEvent, WireError, parse, sse};

/// What ends a stream.
const DONE: &str = "[DONE]";

/// A piece of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// The answer's id.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// Always `chat.completion.chunk`.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub object: Field<String>,
    /// When the answer was begun, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub created: Field<Number>,
    /// The model that answers.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub model: Field<String>,
    /// More of the answers; empty in the piece that says what it cost.
    #[serde(default)]
    pub choices: Vec<ChunkChoice>,
    /// What it cost, in the last piece.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub usage: Field<Usage>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A piece of one answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChunkChoice {
    /// Its number.
    #[serde(default)]
    pub index: u64,
    /// What is added.
    #[serde(default)]
    pub delta: MessageDelta,
    /// Why the model stopped, once it has.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub finish_reason: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is added to a message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageDelta {
    /// Who speaks, in the first piece.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub role: Field<String>,
    /// More text.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub content: Field<String>,
    /// More reasoning.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub reasoning_content: Field<String>,
    /// More of a refusal.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub refusal: Field<String>,
    /// More of the calls.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub tool_calls: Field<Vec<ToolCallDelta>>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is added to a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ToolCallDelta {
    /// Which call; some servers leave it out.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub index: Field<u64>,
    /// Its id, in its first piece.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub id: Field<String>,
    /// The kind of call, in its first piece.
    #[serde(rename = "type", default, skip_serializing_if = "Field::is_missing")]
    pub kind: Field<String>,
    /// More of the function.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub function: Field<FunctionDelta>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What is added to a function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FunctionDelta {
    /// The tool, in the first piece.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub name: Field<String>,
    /// More of the arguments' JSON text.
    #[serde(default, skip_serializing_if = "Field::is_missing")]
    pub arguments: Field<String>,
    /// Fields that are not known here.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Puts a streamed answer together.
///
/// ```
/// use rehearsal_models::wire::{Delta, openai::Assembler};
///
/// let mut assembler = Assembler::default();
/// let said = assembler.push(r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":"hi"}}]}"#)?;
/// assert_eq!(said, [Delta::Text("hi".into())]);
/// assembler.push(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#)?;
/// assembler.push("[DONE]")?;
/// assert_eq!(assembler.finish()?.to_core()?.content.text(), "hi");
/// # Ok::<(), rehearsal_models::wire::WireError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    response: Response,
    choice: Choice,
    text: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
    /// The calls with their numbers, in the order in which they began.
    calls: Vec<(u64, ToolCall)>,
    /// The place of the call that the last piece belonged to.
    last_call: usize,
    is_done: bool,
}

impl Assembler {
    /// Takes the data of the next event, and gives what it adds that can be shown.
    ///
    /// # Errors
    /// It is not a piece of an answer, or reports an error.
    pub fn push(&mut self, data: &str) -> Result<Vec<Delta>, WireError> {
        if self.is_done {
            return Ok(Vec::new());
        }
        if data.trim() == DONE {
            self.is_done = true;
            return Ok(Vec::new());
        }
        let body: Value = parse("a piece of the stream is not JSON", data)?;
        if let Some(error) = error_in_answer(&body) {
            return Err(error);
        }
        let chunk: Chunk = rehearsal_core::json::from_value(body).map_err(|error| {
            WireError::malformed(format!("a piece of the stream is not as it should be: {error}"))
        })?;
        self.take(chunk)
    }

    /// Whether the stream said that it is complete.
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// The whole answer.
    ///
    /// # Errors
    /// The stream ended too early.
    pub fn finish(mut self) -> Result<Response, WireError> {
        if !self.is_done {
            return Err(WireError::cut_off(format!("it ended without `{DONE}`")));
        }
        if self.choice.finish_reason.text().is_none() {
            return Err(WireError::cut_off("it gave no reason for finishing"));
        }
        let message = &mut self.choice.message;
        message.content = self.text.map_or(Field::Null, |text| MessageContent::Text(text).into());
        message.reasoning_content = self.reasoning.into();
        message.refusal = self.refusal.map_or(Field::Null, Field::Value);
        if !self.calls.is_empty() {
            self.calls.sort_by_key(|(number, _)| *number);
            message.tool_calls = self.calls.into_iter().map(|(_, call)| call).collect::<Vec<_>>().into();
        }
        self.response.object = "chat.completion".into();
        self.response.choices = vec![self.choice];
        Ok(self.response)
    }

    fn take(&mut self, chunk: Chunk) -> Result<Vec<Delta>, WireError> {
        let response = &mut self.response;
        keep_first(&mut response.id, chunk.id);
        keep_first(&mut response.created, chunk.created);
        keep_first(&mut response.model, chunk.model);
        if chunk.usage.value().is_some() {
            response.usage = chunk.usage;
        }
        for (key, value) in chunk.extra {
            // Padding against eavesdroppers who measure packets; it belongs to the piece, not to the answer.
            if key != "obfuscation" {
                response.extra.insert(key, value);
            }
        }
        let mut said = Vec::new();
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.take_choice(choice, &mut said)?;
        }
        Ok(said)
    }

    fn take_choice(&mut self, choice: ChunkChoice, said: &mut Vec<Delta>) -> Result<(), WireError> {
        if choice.finish_reason.text().is_some() {
            self.choice.finish_reason = choice.finish_reason;
        }
        accumulate(&mut self.choice.extra, choice.extra);
        let delta = choice.delta;
        let reasoning = delta.extra.get("reasoning").and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(thought) = delta.reasoning_content.text().or(reasoning) {
            said.push(Delta::Thought(thought.to_owned()));
        }
        if let Some(text) = delta.content.text() {
            said.push(Delta::Text(text.to_owned()));
        }
        if let Some(role) = delta.role.into_value() {
            self.choice.message.role = role;
        }
        append(&mut self.reasoning, delta.reasoning_content);
        append(&mut self.text, delta.content);
        append(&mut self.refusal, delta.refusal);
        accumulate(&mut self.choice.message.extra, delta.extra);
        for call in delta.tool_calls.into_value().into_iter().flatten() {
            self.take_call(call)?;
        }
        Ok(())
    }

    /// The place of the call that a piece belongs to, which is a new one where the piece begins a call.
    fn place_of(&mut self, delta: &ToolCallDelta) -> usize {
        let id = delta.id.text();
        // Some servers give every call the number 0, and some repeat the id in every piece.
        let fits = |call: &ToolCall| id.is_none() || call.id.text().is_none() || call.id.text() == id;
        let last = self.calls.get(self.last_call);
        let (number, known) = match delta.index.value() {
            Some(index) => {
                (*index, self.calls.iter().rposition(|(number, call)| number == index && fits(call)))
            }
            // Without a number, another id begins a call and anything else continues the last one.
            None => {
                let continues = last.is_some_and(|(_, call)| id.is_none() || call.id.text() == id);
                let number = last.map_or(0, |(number, _)| number.saturating_add(1));
                (number, continues.then_some(self.last_call))
            }
        };
        known.unwrap_or_else(|| {
            self.calls.push((number, ToolCall::default()));
            self.calls.len() - 1
        })
    }

    fn take_call(&mut self, delta: ToolCallDelta) -> Result<(), WireError> {
        self.last_call = self.place_of(&delta);
        let (_, call) = &mut self.calls[self.last_call];
        keep_first(&mut call.id, delta.id);
        keep_first(&mut call.kind, delta.kind);
        accumulate(&mut call.extra, delta.extra);
        if let Some(more) = delta.function.into_value() {
            let function: &mut FunctionText = call.function.get_or_insert_default();
            // Some servers repeat the name in every piece.
            if function.name.is_empty() {
                function.name = more.name.into_value().unwrap_or_default();
            }
            function.arguments.push_str(more.arguments.text().unwrap_or_default());
            accumulate(&mut function.extra, more.extra);
        }
        match call.function.value() {
            Some(function) if !function.name.is_empty() => Ok(()),
            _ => Err(WireError::malformed("a streamed call begins without the name of its tool")),
        }
    }
}

impl Response {
    /// The answer as a stream of events. What it cost is left out where the client did not ask for it.
    pub fn to_events(&self, usage: UsageInStream) -> Vec<SseEvent> {
        let mut writer = Writer { response: self, usage, events: Vec::new() };
        for choice in &self.choices {
            writer.choice(choice);
        }
        if usage == UsageInStream::Included {
            let chunk = Chunk { usage: self.usage.clone(), ..writer.chunk() };
            writer.events.push(SseEvent::json(&chunk));
        }
        writer.events.push(SseEvent::data(DONE));
        writer.events
    }
}

/// Whether a stream says at its end what the answer cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageInStream {
    /// It does.
    Included,
    /// It does not.
    LeftOut,
}

struct Writer<'a> {
    response: &'a Response,
    usage: UsageInStream,
    events: Vec<SseEvent>,
}

impl Writer<'_> {
    fn chunk(&self) -> Chunk {
        Chunk {
            id: self.response.id.clone(),
            object: "chat.completion.chunk".into(),
            created: self.response.created.clone(),
            model: self.response.model.clone(),
            choices: Vec::new(),
            usage: if self.usage == UsageInStream::Included { Field::Null } else { Field::Missing },
            extra: self.response.extra.clone(),
        }
    }

    fn push(&mut self, index: u64, delta: MessageDelta) {
        self.push_choice(ChunkChoice { index, delta, finish_reason: Field::Null, extra: Map::new() });
    }

    fn push_choice(&mut self, choice: ChunkChoice) {
        let chunk = Chunk { choices: vec![choice], ..self.chunk() };
        self.events.push(SseEvent::json(&chunk));
    }

    fn choice(&mut self, choice: &Choice) {
        let message = &choice.message;
        let text = message.content.value().map(|_| message.plain_text());
        let start = MessageDelta {
            role: message.role.as_str().into(),
            content: text.as_ref().map_or(Field::Null, |_| "".into()),
            extra: message.extra.clone(),
            ..MessageDelta::default()
        };
        self.push(choice.index, start);
        for piece in sse::words(message.reasoning_content.text().unwrap_or_default()) {
            self.push(
                choice.index,
                MessageDelta { reasoning_content: piece.into(), ..MessageDelta::default() },
            );
        }
        for piece in sse::words(&text.unwrap_or_default()) {
            self.push(choice.index, MessageDelta { content: piece.into(), ..MessageDelta::default() });
        }
        for piece in sse::words(message.refusal.text().unwrap_or_default()) {
            self.push(choice.index, MessageDelta { refusal: piece.into(), ..MessageDelta::default() });
        }
        for (number, call) in (0..).zip(message.tool_calls.value().into_iter().flatten()) {
            self.call(choice.index, number, call);
        }
        self.push_choice(ChunkChoice {
            index: choice.index,
            delta: MessageDelta::default(),
            finish_reason: choice.finish_reason.clone(),
            extra: choice.extra.clone(),
        });
    }

    fn call(&mut self, choice: u64, number: u64, call: &ToolCall) {
        let function = call.function.value().cloned().unwrap_or_default();
        let start = ToolCallDelta {
            index: number.into(),
            id: call.id.clone(),
            kind: call.kind.clone(),
            function: FunctionDelta {
                name: function.name.into(),
                arguments: "".into(),
                extra: function.extra,
            }
            .into(),
            extra: call.extra.clone(),
        };
        self.push(choice, MessageDelta { tool_calls: vec![start].into(), ..MessageDelta::default() });
        for piece in sse::fragments(&function.arguments) {
            let function = FunctionDelta { arguments: piece.into(), ..FunctionDelta::default() };
            let more =
                ToolCallDelta { index: number.into(), function: function.into(), ..ToolCallDelta::default() };
            self.push(choice, MessageDelta { tool_calls: vec![more].into(), ..MessageDelta::default() });
        }
    }
}

fn keep_first<T>(kept: &mut Field<T>, came: Field<T>) {
    if kept.value().is_none() && came.value().is_some() {
        *kept = came;
    }
}

fn append(text: &mut Option<String>, more: Field<String>) {
    if let Some(more) = more.into_value() {
        text.get_or_insert_default().push_str(&more);
    }
}

/// Adds what came to what is there: text to text, lists to lists, members to objects; the rest is replaced.
fn accumulate(kept: &mut Map<String, Value>, came: Map<String, Value>) {
    for (key, value) in came {
        match (kept.get_mut(&key), value) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (Some(Value::Object(members)), Value::Object(more)) => accumulate(members, more),
            (Some(_), Value::Null) => {}
            (_, value) => {
                kept.insert(key, value);
            }
        }
    }
}
