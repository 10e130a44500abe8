import type { ProviderContent } from './catalogContent.ts'

/** The known facts of a provider's API: members of a catalog entry, and what no member says. */
export interface Preset {
  /** For people. */
  readonly title: string
  /** The members that an entry has unless it says otherwise. Without base_url the entry has to name its own address. */
  readonly provider: Partial<ProviderContent>
  /** Its differences from the dialect, each with how the gateway treats it. */
  readonly quirks: readonly string[]
  /** The page that states them. */
  readonly source: string
}

const VLLM_MEMBERS = [
  'structured_outputs',
  'guided_json',
  'guided_regex',
  'guided_choice',
  'guided_grammar',
  'min_tokens',
  'stop_token_ids',
  'bad_words',
  'include_stop_str_in_output',
  'skip_special_tokens',
  'length_penalty',
]
/** As many as clients may send, for servers that take any number. */
const ANY_STOPS = 64
const ADDED_REASONING =
  'the reported completion_tokens lack the tokens of reasoning, which are billed as output; the output is total_tokens less the prompt'

const THINKS_ON =
  'thinking models refuse a history with tool calls that lacks their reasoning; it is sent back, or a blank where a client has not kept it'

const NO_DEVELOPER = 'the role developer is refused; its messages are sent as system messages'

/** The providers that a catalog can name by `preset`. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  openai: {
    title: 'OpenAI',
    provider: {
      base_url: 'https://api.openai.com/v1',
      dialect: 'openai',
      api_key_env: 'OPENAI_API_KEY',
      max_tokens_field: 'max_completion_tokens',
      event_streams: ['speech', 'images'],
      batch: true,
    },
    quirks: ['reasoning models refuse max_tokens; max_completion_tokens is sent'],
    source: 'https://platform.openai.com/docs/api-reference/chat/create',
  },
  anthropic: {
    title: 'Anthropic',
    provider: { base_url: 'https://api.anthropic.com/v1', dialect: 'anthropic', api_key_env: 'ANTHROPIC_API_KEY' },
    quirks: ['the reported input lacks the cached tokens; each kind has its own rate'],
    source: 'https://docs.anthropic.com/en/api/messages',
  },
  azure: {
    title: 'Azure OpenAI, API v1',
    provider: { dialect: 'openai', api_key_env: 'AZURE_OPENAI_API_KEY', max_tokens_field: 'max_completion_tokens' },
    quirks: [
      'base_url is https://RESOURCE.openai.azure.com/openai/v1, and the model of a route is the name of a deployment',
      'the first chunk of a stream has no choices but results of content filters; it is no output',
    ],
    source: 'https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle',
  },
  bedrock: {
    title: 'Amazon Bedrock, OpenAI-shaped',
    provider: { dialect: 'openai', api_key_env: 'AWS_BEARER_TOKEN_BEDROCK' },
    quirks: ['base_url is https://bedrock-runtime.REGION.amazonaws.com/openai/v1', 'it serves chat alone'],
    source: 'https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html',
  },
  gemini: {
    title: 'Gemini, OpenAI-shaped',
    provider: {
      base_url: 'https://generativelanguage.googleapis.com/v1beta/openai',
      dialect: 'openai',
      api_key_env: 'GEMINI_API_KEY',
      thinking_member: 'reasoning_effort',
      output_from: 'total',
      extra_members: ['extra_content'],
      stop_sequences_max: 5,
    },
    quirks: [
      ADDED_REASONING,
      'every chunk has the usage so far; the last one counts',
      'tool calls come without an index, or whole in one chunk',
      'tool calls of a history are refused with 400 without the signature in their extra_content; it is sent back',
    ],
    source: 'https://ai.google.dev/gemini-api/docs/openai',
  },
  groq: {
    title: 'Groq',
    provider: {
      base_url: 'https://api.groq.com/openai/v1',
      dialect: 'openai',
      api_key_env: 'GROQ_API_KEY',
      max_tokens_field: 'max_completion_tokens',
      omit_members: ['logprobs', 'logit_bias', 'top_logprobs'],
    },
    quirks: [
      'the members logprobs, logit_bias and top_logprobs are refused with 400; they are left out',
      'n above 1 and names of messages are refused with 400',
    ],
    source: 'https://console.groq.com/docs/openai',
  },
  together: {
    title: 'Together AI',
    provider: { base_url: 'https://api.together.xyz/v1', dialect: 'openai', api_key_env: 'TOGETHER_API_KEY' },
    quirks: ['usage comes with the chunk of finish_reason, which may be eos; clients get stop'],
    source: 'https://docs.together.ai/docs/openai-api-compatibility',
  },
  fireworks: {
    title: 'Fireworks AI',
    provider: {
      base_url: 'https://api.fireworks.ai/inference/v1',
      dialect: 'openai',
      api_key_env: 'FIREWORKS_API_KEY',
    },
    quirks: ['usage comes with the last chunk, asked for or not'],
    source: 'https://docs.fireworks.ai/tools-sdks/openai-compatibility',
  },
  deepseek: {
    title: 'DeepSeek',
    provider: {
      base_url: 'https://api.deepseek.com/v1',
      dialect: 'openai',
      api_key_env: 'DEEPSEEK_API_KEY',
      max_tokens_field: 'max_tokens',
      system_messages: 'system',
      thinking_member: 'thinking_off',
      extra_members: ['reasoning_content'],
      stop_sequences_max: 16,
    },
    quirks: [
      THINKS_ON,
      NO_DEVELOPER,
      'cached tokens come as prompt_cache_hit_tokens too; they are counted once',
      'comment lines keep a waiting stream alive',
    ],
    source: 'https://api-docs.deepseek.com/api/create-chat-completion',
  },
  moonshot: {
    title: 'Moonshot AI',
    provider: {
      base_url: 'https://api.moonshot.ai/v1',
      dialect: 'openai',
      api_key_env: 'MOONSHOT_API_KEY',
      max_tokens_field: 'max_tokens',
      system_messages: 'system',
      thinking_member: 'thinking_off',
      extra_members: ['reasoning_content'],
    },
    quirks: [THINKS_ON, NO_DEVELOPER, 'usage of a stream comes in its last choice as well; it is counted once'],
    source: 'https://platform.moonshot.ai/docs/api/chat',
  },
  mistral: {
    title: 'Mistral AI',
    provider: {
      base_url: 'https://api.mistral.ai/v1',
      dialect: 'openai',
      api_key_env: 'MISTRAL_API_KEY',
      max_tokens_field: 'max_tokens',
      system_messages: 'system',
      call_id_characters: 9,
      stream_usage: false,
      omit_members: [
        'logit_bias',
        'logprobs',
        'top_logprobs',
        'seed',
        'user',
        'store',
        'service_tier',
        'prompt_cache_key',
        'safety_identifier',
        'verbosity',
      ],
    },
    quirks: [
      NO_DEVELOPER,
      'members that it does not know are refused with 422; max_completion_tokens and stream_options are among them',
      'usage comes with the last chunk unasked',
      'ids of tool calls that are not nine letters and digits are refused; those of a history are replaced',
    ],
    source: 'https://docs.mistral.ai/api',
  },
  xai: {
    title: 'xAI',
    provider: {
      base_url: 'https://api.x.ai/v1',
      dialect: 'openai',
      api_key_env: 'XAI_API_KEY',
      output_from: 'total',
    },
    quirks: [ADDED_REASONING],
    source: 'https://docs.x.ai/docs/key-information/consumption-and-rate-limits',
  },
  perplexity: {
    title: 'Perplexity',
    provider: {
      base_url: 'https://api.perplexity.ai',
      dialect: 'openai',
      api_key_env: 'PERPLEXITY_API_KEY',
      max_tokens_field: 'max_tokens',
    },
    quirks: ['it bills a fee for each request beside the tokens; set a price of tokens that bears it'],
    source: 'https://docs.perplexity.ai/guides/chat-completions-guide',
  },
  cerebras: {
    title: 'Cerebras',
    provider: {
      base_url: 'https://api.cerebras.ai/v1',
      dialect: 'openai',
      api_key_env: 'CEREBRAS_API_KEY',
      max_tokens_field: 'max_completion_tokens',
      omit_members: ['frequency_penalty', 'presence_penalty', 'logit_bias', 'service_tier', 'prompt_cache_key'],
    },
    quirks: [
      'the members frequency_penalty, presence_penalty, logit_bias and service_tier are refused with 400; they are left out',
    ],
    source: 'https://inference-docs.cerebras.ai/resources/openai',
  },
  openrouter: {
    title: 'OpenRouter',
    provider: {
      base_url: 'https://openrouter.ai/api/v1',
      dialect: 'openai',
      api_key_env: 'OPENROUTER_API_KEY',
      thinking_member: 'reasoning',
      extra_members: ['cache_control'],
    },
    quirks: [
      'an error within a stream comes as a chunk with the finish_reason error; the stream then failed',
      'models of Anthropic keep in their cache what is marked with cache_control alone; the marks of Messages clients are sent',
    ],
    source: 'https://openrouter.ai/docs/api-reference/overview',
  },
  cohere: {
    title: 'Cohere, OpenAI-shaped',
    provider: {
      base_url: 'https://api.cohere.ai/compatibility/v1',
      dialect: 'openai',
      api_key_env: 'COHERE_API_KEY',
      max_tokens_field: 'max_tokens',
      omit_members: ['store', 'metadata', 'logit_bias', 'top_logprobs', 'service_tier', 'parallel_tool_calls'],
    },
    quirks: [
      'the members store, metadata, logit_bias, top_logprobs, service_tier and parallel_tool_calls are not supported; they are left out',
    ],
    source: 'https://docs.cohere.com/docs/compatibility-api',
  },
  vllm: {
    title: 'vLLM',
    provider: {
      base_url: 'http://127.0.0.1:8000/v1',
      dialect: 'openai',
      thinking_member: 'chat_template_kwargs',
      extra_members: VLLM_MEMBERS,
      stop_sequences_max: ANY_STOPS,
    },
    quirks: ['cached tokens are reported only with --enable-prompt-tokens-details'],
    source: 'https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html',
  },
  sglang: {
    title: 'SGLang',
    provider: {
      base_url: 'http://127.0.0.1:30000/v1',
      dialect: 'openai',
      thinking_member: 'chat_template_kwargs',
      extra_members: ['min_tokens', 'stop_token_ids', 'skip_special_tokens'],
      stop_sequences_max: ANY_STOPS,
    },
    quirks: ['cached tokens are reported only with --enable-cache-report'],
    source: 'https://docs.sglang.ai/basic_usage/openai_api_completions.html',
  },
  ollama: {
    title: 'Ollama',
    provider: {
      base_url: 'http://127.0.0.1:11434/v1',
      dialect: 'openai',
      max_tokens_field: 'max_tokens',
      stop_sequences_max: ANY_STOPS,
    },
    quirks: ['the context is cut silently to its own setting; set `context` of the model to the same'],
    source: 'https://github.com/ollama/ollama/blob/main/docs/openai.md',
  },
  lmstudio: {
    title: 'LM Studio',
    provider: {
      base_url: 'http://127.0.0.1:1234/v1',
      dialect: 'openai',
      max_tokens_field: 'max_tokens',
      stop_sequences_max: ANY_STOPS,
    },
    quirks: [],
    source: 'https://lmstudio.ai/docs/app/api/endpoints/openai',
  },
}
