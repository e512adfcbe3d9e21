//! What a call does: it executes a function, or continues a conversation that the caller brought along. Here is all
//! that differs between the two; the path is the same.

use std::{sync::Arc, time::Duration};

use domain::{
    Beside, ChatRequest, Example, FinishReason, Function, Generation, Json, JsonObject,
    ModelChoice, ModelSpec, Part, Role, Rung, Settings, SpanId, SpanKind, Tags,
};

use super::{
    open::{Call, Compiled},
    output::Wanted,
};

/// A conversation to be continued, without a stored function.
#[derive(Debug, Clone, Default)]
pub struct ChatCall {
    /// The conversation, the demand and the tools. The demand's rung is the firmest that it is to be asked on.
    pub request: ChatRequest,
    /// Who is asked; the default model when absent.
    pub model: Option<ModelSpec>,
    /// Who is asked when nobody of `model` can be.
    pub fallbacks: Vec<ModelChoice>,
    /// Laid over the options of each model.
    pub options: JsonObject,
    /// How long the answer is kept for equal conversations; not at all if zero.
    pub cache_ttl: Duration,
    /// The span under which the call is recorded.
    pub parent_span_id: Option<SpanId>,
    /// Kept with the span.
    pub tags: Tags,
    /// A part of the conversation that nobody here can read, for the error that names it. Only hosts that read a turn as
    /// it was given can be asked then.
    pub unread: Option<String>,
}

/// What a call does.
pub(super) enum Task {
    /// It executes a function.
    Function(Box<FunctionTask>),
    /// It continues a conversation.
    Chat(Box<ChatTask>),
}

/// A function to be executed.
pub(super) struct FunctionTask {
    pub(super) function: Function,
    pub(super) callee: Arc<Compiled>,
    /// Absent counts as `null`.
    pub(super) input: Option<Json>,
    /// The request's own.
    pub(super) examples: Vec<Example>,
}

/// A conversation to be continued.
pub(super) struct ChatTask {
    pub(super) request: Arc<ChatRequest>,
    pub(super) model: ModelSpec,
    pub(super) settings: Settings,
    pub(super) wanted: Wanted,
    pub(super) firmest: Rung,
    pub(super) unread: Option<String>,
}

impl Call {
    /// What it is recorded under.
    pub(super) fn name(&self) -> &str {
        match &self.task {
            Task::Function(task) => task.function.name.as_str(),
            Task::Chat(_) => "chat",
        }
    }

    /// As what it is recorded.
    pub(super) const fn kind(&self) -> SpanKind {
        match &self.task {
            Task::Function(_) => SpanKind::GENERATION,
            Task::Chat(_) => SpanKind::CHAT,
        }
    }

    /// How it is to be executed.
    pub(super) fn settings(&self) -> &Settings {
        match &self.task {
            Task::Function(task) => &task.callee.revision.definition.configuration,
            Task::Chat(task) => &task.settings,
        }
    }

    /// Who is asked, if anybody is named.
    pub(super) fn model(&self) -> Option<&ModelSpec> {
        match &self.task {
            Task::Function(task) => task.callee.revision.definition.model.as_ref(),
            Task::Chat(task) => Some(&task.model),
        }
    }

    /// What answers have to be.
    pub(super) fn wanted(&self) -> &Wanted {
        match &self.task {
            Task::Function(task) => &task.callee.wanted,
            Task::Chat(task) => &task.wanted,
        }
    }

    /// What this answer has to be. In a conversation a refusal, a call of a tool and an answer that was cut are told by
    /// signs of their own, whatever the text is.
    pub(super) fn wanted_of(&self, generation: &Generation) -> &Wanted {
        let says_so_itself = generation.refusal.is_some()
            || !generation.tool_calls.is_empty()
            || generation.finish_reason != FinishReason::Stop;
        match &self.task {
            Task::Chat(_) if says_so_itself => &Wanted::Text,
            _ => self.wanted(),
        }
    }

    /// Whether a demanded value is all that can come, so that what stands around it need not be passed on.
    pub(super) fn awaits_value_alone(&self) -> bool {
        match &self.task {
            Task::Function(_) => true,
            Task::Chat(task) => {
                let mut models = task.model.choices().iter();
                task.request.tools.is_empty()
                    && models.all(|model| !model.options.contains_key("tools"))
            }
        }
    }

    /// Whether its result can hold calls of functions.
    pub(super) const fn has_place_for_calls(&self) -> bool {
        matches!(self.task, Task::Chat(_))
    }

    /// Whether a refusal fails it.
    pub(super) const fn is_failed_by_refusal(&self) -> bool {
        matches!(self.task, Task::Function(_))
    }

    /// What of an answer there is a place for beside the output.
    pub(super) fn beside(&self, generation: Generation) -> Beside {
        match &self.task {
            Task::Function(_) => Beside {
                images: generation.images,
                ..Beside::default()
            },
            Task::Chat(_) => generation.into(),
        }
    }

    /// What went in, as its span keeps it.
    pub(super) fn input(&self) -> Option<Json> {
        match &self.task {
            Task::Function(task) => task.input.clone(),
            Task::Chat(task) => {
                let turns = task.request.messages.iter();
                let given: Vec<&Json> = turns.filter_map(|turn| turn.as_given.as_ref()).collect();
                Some(Json::of(&given))
            }
        }
    }

    /// What the model was told to do.
    pub(super) fn instructions(&self) -> String {
        match &self.task {
            Task::Function(task) => task.callee.revision.definition.instructions.clone(),
            Task::Chat(task) => {
                let turns = task.request.messages.iter();
                let told = turns.filter(|turn| turn.role == Role::System);
                let texts = told
                    .flat_map(|turn| &turn.parts)
                    .filter_map(|part| match part {
                        Part::Text(text) => Some(text.as_str()),
                        _ => None,
                    });
                texts.collect::<Vec<_>>().join("\n\n")
            }
        }
    }

    /// Of a host's rungs, those that the call may be asked on.
    pub(super) fn rungs(&self, rungs: &'static [Rung]) -> &'static [Rung] {
        match &self.task {
            Task::Function(_) => rungs,
            Task::Chat(task) => {
                let from = rungs.partition_point(|rung| *rung < task.firmest);
                &rungs[from..]
            }
        }
    }

    /// What of the conversation a host that reads no turn as it was given cannot be asked.
    pub(super) fn unread(&self) -> Option<(&str, &ChatRequest)> {
        match &self.task {
            Task::Function(_) => None,
            Task::Chat(task) => Some((task.unread.as_deref()?, &task.request)),
        }
    }
}
