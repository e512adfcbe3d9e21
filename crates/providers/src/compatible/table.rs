//! The table.

use domain::Rung;

use super::{
    FORMLESS, Fetched, Limit, MISTRAL, OPENAIS, PERPLEXITY, Row,
    Steering::{At, Below},
    local, row,
};
use crate::responses;

/// OpenAI's models that refuse `max_tokens`: <https://platform.openai.com/docs/guides/reasoning>.
const REASONING: &[&str] = &["o1", "o3", "o4", "gpt-5", "gpt-6"];
/// The same where names begin with who made the model.
const NAMED_REASONING: &[&str] = &[
    "openai/o1",
    "openai/o3",
    "openai/o4",
    "openai/gpt-5",
    "openai/gpt-6",
];

/// How many texts TEI takes in one request of any kind.
const TEI_BATCH: usize = 32;

/// The hosts, in the order in which a default model is looked for.
///
/// Addresses and key variables are those of the hosts' own pages, compared with what <https://models.dev> and
/// <https://docs.litellm.ai/docs/providers> have. A limit has one name alone where the host's page has no other, and
/// <https://github.com/Portkey-AI/gateway> says it so too.
pub(crate) static TABLE: &[Row] = &[
    Row {
        limit: Limit::NewFor(REASONING),
        default_embedding_model: Some("text-embedding-3-small"),
        takes_base64: true,
        short_ids: &[""],
        // Of the cheap ones that stay (https://developers.openai.com/api/docs/deprecations) the one that does not think
        // unasked: those that do, such as `gpt-6-luna`, take tools in chats only where they are told not to.
        ..row(
            "openai",
            "https://api.openai.com/v1",
            "OPENAI_API_KEY",
            "gpt-5.4-mini",
        )
    },
    row(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "openai/gpt-oss-20b",
    ),
    row(
        "parasail",
        "https://api.parasail.io/v1",
        "PARASAIL_API_KEY",
        "parasail-llama-33-70b-fp8",
    ),
    Row {
        // It refuses what it does not know, this member too; the count comes unasked.
        takes_stream_options: false,
        protocol: MISTRAL,
        ..row(
            MISTRAL,
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            "mistral-small-latest",
        )
    },
    Row {
        // https://api-docs.deepseek.com/guides/json_mode: `json_object` is the only form there.
        rungs: &FORMLESS,
        // https://api-docs.deepseek.com/api/create-chat-completion
        limit: Limit::Old,
        ..row(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            "deepseek-flash",
        )
    },
    Row {
        // https://docs.together.ai/reference/chat-completions-1
        limit: Limit::Old,
        takes_schema_in_json_mode: true,
        ..row(
            "together",
            "https://api.together.xyz/v1",
            "TOGETHER_API_KEY",
            "openai/gpt-oss-20b",
        )
    },
    Row {
        // https://docs.fireworks.ai/api-reference/post-chatcompletions
        takes_schema_in_json_mode: true,
        ..row(
            "fireworks",
            "https://api.fireworks.ai/inference/v1",
            "FIREWORKS_API_KEY",
            "accounts/fireworks/models/gpt-oss-20b",
        )
    },
    Row {
        default_embedding_model: Some("openai/text-embedding-3-small"),
        short_ids: OPENAIS,
        // https://openrouter.ai/docs/features/multimodal/pdfs
        fetches: &[Fetched::Documents],
        // https://openrouter.ai/docs/guides/routing/model-fallbacks, https://openrouter.ai/docs/features/presets
        steering: &[
            At("models"),
            At("route"),
            At("preset"),
            At("fallbacks"),
            Below("plugins"),
        ],
        ..row(
            "openrouter",
            "https://openrouter.ai/api/v1",
            "OPENROUTER_API_KEY",
            "openai/gpt-5.4-mini",
        )
    },
    row(
        "xai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        "grok-4.20-non-reasoning",
    ),
    row(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        "gpt-oss-120b",
    ),
    Row {
        // https://docs.perplexity.ai/docs/agent-api/openai-compatibility: its chats ended on 2026-09-27. Here, a form is
        // that of a schema, and no tool can be forced.
        protocol: responses::NAME,
        rungs: &[Rung::NativeSchema, Rung::Prompt],
        ..row(
            PERPLEXITY,
            "https://api.perplexity.ai/v1",
            "PERPLEXITY_API_KEY",
            "perplexity/sonar",
        )
    },
    Row {
        // https://deepinfra.com/docs/openai_api
        limit: Limit::Old,
        ..row(
            "deepinfra",
            "https://api.deepinfra.com/v1/openai",
            "DEEPINFRA_API_KEY",
            "openai/gpt-oss-120b",
        )
    },
    Row {
        // https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion
        limit: Limit::Old,
        ..row(
            "novita",
            "https://api.novita.ai/openai/v1",
            "NOVITA_API_KEY",
            "openai/gpt-oss-120b",
        )
    },
    row(
        "nebius",
        "https://api.tokenfactory.nebius.com/v1",
        "NEBIUS_API_KEY",
        "openai/gpt-oss-120b",
    ),
    row(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
        "gpt-oss-120b",
    ),
    row(
        "hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
        "meta-llama/Llama-3.3-70B-Instruct",
    ),
    row(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        "kimi-k2.5",
    ),
    Row {
        // https://docs.z.ai/api-reference/llm/chat-completion: `tool_choice` can be `auto` alone, and the form
        // `json_object`; that of a schema is passed over without a word
        // (https://github.com/vectorize-io/hindsight/issues/4491).
        rungs: &[Rung::JsonMode, Rung::Prompt],
        limit: Limit::Old,
        ..row(
            "zai",
            "https://api.z.ai/api/paas/v4",
            "ZAI_API_KEY",
            "glm-4.5-air",
        )
    },
    Row {
        // https://platform.minimax.io/docs/api-reference/text-post: `tool_choice` can be `none` or `auto`, and a form is
        // for `MiniMax-Text-01`; the others pass over one without a word
        // (https://github.com/MiniMax-AI/MiniMax-M2.5/issues/4).
        rungs: &[Rung::Prompt],
        ..row(
            "minimax",
            "https://api.minimax.io/v1",
            "MINIMAX_API_KEY",
            "MiniMax-M2",
        )
    },
    Row {
        short_ids: OPENAIS,
        // https://vercel.com/docs/ai-gateway/models-and-providers/model-fallbacks
        steering: &[At("models"), At("providerOptions/gateway/models")],
        ..row(
            "vercel",
            "https://ai-gateway.vercel.sh/v1",
            "AI_GATEWAY_API_KEY",
            "openai/gpt-5.4-mini",
        )
    },
    Row {
        // https://docs.api.nvidia.com/nim/reference/llm-apis; the newer name is passed over without a word
        // (https://github.com/simstudioai/sim/pull/5569).
        limit: Limit::Old,
        ..row(
            "nvidia",
            "https://integrate.api.nvidia.com/v1",
            "NVIDIA_API_KEY",
            "mistralai/mistral-small-4-119b-2603",
        )
    },
    row(
        "baseten",
        "https://inference.baseten.co/v1",
        "BASETEN_API_KEY",
        "openai/gpt-oss-120b",
    ),
    row(
        "scaleway",
        "https://api.scaleway.ai/v1",
        "SCW_SECRET_KEY",
        "gpt-oss-120b",
    ),
    row(
        "ovhcloud",
        "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
        "OVH_AI_ENDPOINTS_ACCESS_TOKEN",
        "gpt-oss-20b",
    ),
    Row {
        // https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api
        embedding_batch: 10,
        ..row(
            "dashscope",
            "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            "DASHSCOPE_API_KEY",
            "qwen3.6-flash",
        )
    },
    Row {
        // https://docs.siliconflow.com/en/api-reference/embeddings/create-embeddings
        embedding_batch: 32,
        limit: Limit::Old,
        ..row(
            "siliconflow",
            "https://api.siliconflow.com/v1",
            "SILICONFLOW_API_KEY",
            "openai/gpt-oss-20b",
        )
    },
    row(
        "stepfun",
        "https://api.stepfun.com/v1",
        "STEPFUN_API_KEY",
        "step-3.5-flash",
    ),
    Row {
        // Which models there are is each account's own choice.
        default_model: None,
        ..row(
            "volcengine",
            "https://ark.cn-beijing.volces.com/api/v3",
            "ARK_API_KEY",
            "",
        )
    },
    Row {
        // https://console.upstage.ai/api/embeddings
        embedding_batch: 100,
        embedding_tokens: 204_000,
        ..row(
            "upstage",
            "https://api.upstage.ai/v1",
            "UPSTAGE_API_KEY",
            "solar-mini4",
        )
    },
    row(
        "friendli",
        "https://api.friendli.ai/serverless/v1",
        "FRIENDLI_TOKEN",
        "deepseek-ai/DeepSeek-V3.2",
    ),
    row(
        "inception",
        "https://api.inceptionlabs.ai/v1",
        "INCEPTION_API_KEY",
        "mercury-2",
    ),
    row(
        "featherless",
        "https://api.featherless.ai/v1",
        "FEATHERLESS_AI_API_KEY",
        "Qwen/Qwen2.5-72B-Instruct",
    ),
    Row {
        // https://docs.ai21.com/reference/jamba-1-6-api-ref: no other form, and tools are the model's own choice.
        rungs: &[Rung::JsonMode, Rung::Prompt],
        limit: Limit::Old,
        ..row(
            "ai21",
            "https://api.ai21.com/studio/v1",
            "AI21_API_KEY",
            "jamba-mini",
        )
    },
    Row {
        // https://v0.app/docs/v0-model-api: tools, but no form at all.
        rungs: &[Rung::ForcedTool, Rung::Prompt],
        ..row("v0", "https://api.v0.dev/v1", "V0_API_KEY", "v0-1.5-md")
    },
    Row {
        // https://developers.cloudflare.com/workers-ai/models/bge-m3
        embedding_batch: 100,
        limit: Limit::Old,
        // Nothing works there without its setting, so it is never chosen unasked.
        default_model: None,
        ..row(
            "cloudflare",
            "https://api.cloudflare.com/client/v4/accounts/{account_id}/ai/v1",
            "CLOUDFLARE_API_KEY",
            "",
        )
    },
    Row {
        // https://docs.github.com/en/rest/models/inference, where OpenAI's models refuse what they do elsewhere.
        limit: Limit::NewFor(NAMED_REASONING),
        short_ids: OPENAIS,
        // The key is there for other things too, so it is never chosen unasked.
        default_model: None,
        ..row(
            "github",
            "https://models.github.ai/inference",
            "GITHUB_TOKEN",
            "",
        )
    },
    Row {
        // https://huggingface.co/docs/inference-providers/tasks/chat-completion
        limit: Limit::Old,
        // The key is there for other things too, so it is never chosen unasked.
        default_model: None,
        ..row(
            "huggingface",
            "https://router.huggingface.co/v1",
            "HF_TOKEN",
            "",
        )
    },
    Row {
        // Embeddings alone.
        default_model: None,
        // https://docs.voyageai.com/reference/embeddings-api: of some models more tokens, of none fewer.
        embedding_batch: 1000,
        embedding_tokens: 120_000,
        dimensions: "output_dimension",
        // https://docs.voyageai.com/reference/reranker-api
        rerank_batch: 1000,
        ..row(
            "voyage",
            "https://api.voyageai.com/v1",
            "VOYAGE_API_KEY",
            "",
        )
    },
    Row {
        // Embeddings and reranking alone.
        default_model: None,
        ..row("jina", "https://api.jina.ai/v1", "JINA_API_KEY", "")
    },
    Row {
        // Embeddings and reranking alone; `--max-client-batch-size`, unless it is told otherwise:
        // https://huggingface.co/docs/text-embeddings-inference/cli_arguments
        embedding_batch: TEI_BATCH,
        rerank_batch: TEI_BATCH,
        ..local("tei", "http://localhost:8080/v1")
    },
    Row {
        // https://docs.vllm.ai/en/latest/features/multimodal_inputs
        fetches: &[Fetched::Sound],
        ..local("vllm", "http://localhost:8000/v1")
    },
    local("lmstudio", "http://localhost:1234/v1"),
    local("llamacpp", "http://localhost:8080/v1"),
    Row {
        // https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py
        fetches: &[Fetched::Sound],
        ..local("sglang", "http://localhost:30000/v1")
    },
    Row {
        // https://huggingface.co/docs/text-generation-inference/messages_api
        limit: Limit::Old,
        ..local("tgi", "http://localhost:3000/v1")
    },
    Row {
        // It passes on what it is given, and the hosts behind it may mind.
        takes_schema_in_json_mode: false,
        // https://docs.litellm.ai/docs/proxy/client_side_fallbacks
        steering: &[
            At("fallbacks"),
            At("context_window_fallbacks"),
            At("content_policy_fallbacks"),
            At("router_settings_override/fallbacks"),
            At("router_settings_override/context_window_fallbacks"),
            At("router_settings_override/content_policy_fallbacks"),
        ],
        ..local("litellm", "http://localhost:4000/v1")
    },
    local("jan", "http://localhost:1337/v1"),
    local("localai", "http://localhost:8080/v1"),
    local("llamafile", "http://localhost:8080/v1"),
];
