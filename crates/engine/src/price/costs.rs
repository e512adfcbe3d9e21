//! Costs by the shipped book, counted by hand.

use domain::Usage;

use super::{Found, PriceBook};

/// What so much of a model costs, in nano-USD.
fn cost(model: &str, region: Option<&str>, usage: &Usage) -> Option<i64> {
    let (provider, model) = model.split_once('/')?;
    let price = match PriceBook::find(provider, model, region)? {
        Found::Row(row, ..) => row.price(),
        Found::Free(_) => domain::Price::default(),
    };
    Some(price.of(usage).nanos())
}

/// So many tokens sent and received.
const fn tokens(input_tokens: u64, output_tokens: u64) -> Usage {
    Usage {
        input_tokens,
        output_tokens,
        reasoning_tokens: 0,
        cached_tokens: 0,
        cache_write_tokens: 0,
        cache_write_1h_tokens: 0,
        audio_input_tokens: 0,
        audio_output_tokens: 0,
        image_output_tokens: 0,
        images: 0,
        pages: 0,
        seconds: 0,
        searches: 0,
    }
}

#[test]
fn text_costs_by_the_token() {
    for (model, usage, nanos) in [
        // 1,000 x 2,500 + 100 x 10,000
        ("openai/gpt-4o", tokens(1_000, 100), 3_500_000),
        // 7 x 150 + 3 x 600
        ("openai/gpt-4o-mini", tokens(7, 3), 2_850),
        // 1 x 50 + 1 x 400
        ("openai/gpt-5-nano", tokens(1, 1), 450),
        // 1,000 x 3,000 + 100 x 15,000
        ("anthropic/claude-sonnet-4-5", tokens(1_000, 100), 4_500_000),
        // 1,000 x 300 + 100 x 2,500
        ("gemini/gemini-2.5-flash", tokens(1_000, 100), 550_000),
        // 1,000 x 500 + 100 x 1,500
        ("mistral/mistral-large-latest", tokens(1_000, 100), 650_000),
        // 1,000 x 37.5 + 100 x 150
        ("cohere/command-r7b-12-2024", tokens(1_000, 100), 52_500),
        // 3 x 37.5 = 112.5: half to even
        ("cohere/command-r7b-12-2024", tokens(3, 0), 112),
        // 1,000 x 75 + 100 x 300
        ("groq/openai/gpt-oss-20b", tokens(1_000, 100), 105_000),
        // 1,000 x 350 + 100 x 750
        ("cerebras/gpt-oss-120b", tokens(1_000, 100), 425_000),
        // 1,000 x 600 + 100 x 3,000
        ("moonshot/kimi-k2.5", tokens(1_000, 100), 900_000),
        // 1,000 x 200 + 100 x 1,100
        ("zai/glm-4.5-air", tokens(1_000, 100), 310_000),
        // 1,000 x 2,500 + 100 x 10,000
        ("azure/gpt-4o", tokens(1_000, 100), 3_500_000),
        ("offline/json", tokens(1_000, 100), 0),
        ("gemini/gemma-4-31b-it", tokens(1_000, 100), 0),
        ("openrouter/any/model:free", tokens(1_000, 100), 0),
    ] {
        assert_eq!(cost(model, None, &usage), Some(nanos), "{model}");
    }
}

#[test]
fn cached_tokens_are_a_part_of_those_sent() {
    let read = |cached_tokens, usage| Usage {
        cached_tokens,
        ..usage
    };
    for (model, usage, nanos) in [
        // 400 x 2,500 + 600 x 1,250 + 100 x 10,000
        ("openai/gpt-4o", read(600, tokens(1_000, 100)), 2_750_000),
        // 400 x 1,250 + 600 x 125
        ("openai/gpt-5", read(600, tokens(1_000, 0)), 575_000),
        // 100 x 2,000 + 900 x 100
        ("openai/gpt-6.2-sol", read(900, tokens(1_000, 0)), 290_000),
        // 400 x 300 + 600 x 6
        (
            "deepseek/deepseek-flash",
            read(600, tokens(1_000, 0)),
            123_600,
        ),
        // 400 x 1,250 + 600 x 125
        (
            "gemini/gemini-2.5-pro",
            read(600, tokens(1_000, 0)),
            575_000,
        ),
        // No price of its own: 1,000 x 15,000
        ("openai/gpt-5-pro", read(600, tokens(1_000, 0)), 15_000_000),
        // A provider that counts them beside those sent is read so that none is more than there are: 10 x 1,250
        ("openai/gpt-4o", read(600, tokens(10, 0)), 12_500),
    ] {
        assert_eq!(cost(model, None, &usage), Some(nanos), "{model} {usage:?}");
    }
    let both = Usage {
        cached_tokens: 500,
        cache_write_tokens: 300,
        ..tokens(1_000, 100)
    };
    // 200 x 3,000 + 500 x 300 + 300 x 3,750 + 100 x 15,000
    assert_eq!(
        cost("anthropic/claude-sonnet-4-5", None, &both),
        Some(3_375_000)
    );
    // 200 x 3,300 + 500 x 330 + 300 x 4,125 + 100 x 16,500
    let profile = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0";
    assert_eq!(cost(profile, Some("us-east-1"), &both), Some(3_712_500));
}

#[test]
fn what_a_cache_keeps_for_an_hour_costs_twice_the_input_of_claude() {
    let written = |cache_write_tokens, cache_write_1h_tokens, usage| Usage {
        cache_write_tokens,
        cache_write_1h_tokens,
        ..usage
    };
    for (model, region, usage, nanos) in [
        // 200 x 4,000 + 300 x 5,000 + 500 x 8,000 + 100 x 20,000
        (
            "anthropic/claude-opus-5-5",
            None,
            written(800, 500, tokens(1_000, 100)),
            8_300_000,
        ),
        // 90,000 x 200
        (
            "anthropic/claude-haiku-5-5",
            None,
            written(90_000, 90_000, tokens(90_000, 0)),
            18_000_000,
        ),
        // 100,001 x 1,000
        (
            "anthropic/claude-haiku-5-5",
            None,
            written(100_001, 100_001, tokens(100_001, 0)),
            100_001_000,
        ),
        // 1,000 x 6,600
        (
            "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            Some("us-east-1"),
            written(1_000, 1_000, tokens(1_000, 0)),
            6_600_000,
        ),
        // 1,000 x 6,000
        (
            "vertex/claude-sonnet-4-5@20250929",
            None,
            written(1_000, 1_000, tokens(1_000, 0)),
            6_000_000,
        ),
        // No price of its own: 1,000 x 2,500
        (
            "openai/gpt-6.2-sol",
            None,
            written(1_000, 1_000, tokens(1_000, 0)),
            2_500_000,
        ),
    ] {
        assert_eq!(
            cost(model, region, &usage),
            Some(nanos),
            "{model} {usage:?}"
        );
    }
}

#[test]
fn long_inputs_cost_by_their_tier() {
    let long = |input_tokens, cached_tokens, output_tokens| Usage {
        cached_tokens,
        ..tokens(input_tokens, output_tokens)
    };
    for (model, usage, nanos) in [
        // 200,000 x 1,250 + 10 x 10,000
        ("gemini/gemini-2.5-pro", long(200_000, 0, 10), 250_100_000),
        // 100,001 x 2,500 + 100,000 x 250 + 10 x 15,000
        (
            "gemini/gemini-2.5-pro",
            long(200_001, 100_000, 10),
            275_152_500,
        ),
        // 272,000 x 2,500
        ("openai/gpt-5.4", long(272_000, 0, 0), 680_000_000),
        // 272,001 x 5,000 + 10 x 22,500
        ("openai/gpt-5.4", long(272_001, 0, 10), 1_360_230_000),
        // 100,000 x 100 + 10 x 500
        (
            "anthropic/claude-haiku-5-5",
            long(100_000, 0, 10),
            10_005_000,
        ),
        // 100,001 x 500 + 10 x 2,500
        (
            "anthropic/claude-haiku-5-5",
            long(100_001, 0, 10),
            50_025_500,
        ),
        // 300,000 x 2,500 + 10 x 5,000
        ("xai/grok-4.3", long(300_000, 0, 10), 750_050_000),
    ] {
        assert_eq!(cost(model, None, &usage), Some(nanos), "{model} {usage:?}");
    }
}

#[test]
fn reasoning_is_a_part_of_what_is_received() {
    let thought = Usage {
        reasoning_tokens: 90,
        ..tokens(10, 100)
    };

    // 10 x 2,000 + 100 x 8,000
    assert_eq!(cost("openai/o3", None, &thought), Some(820_000));
    // 10 x 300 + 100 x 2,500
    assert_eq!(
        cost("gemini/gemini-2.5-flash", None, &thought),
        Some(253_000)
    );
}

#[test]
fn sound_and_images_have_their_own_prices() {
    let sound = Usage {
        audio_input_tokens: 600,
        audio_output_tokens: 80,
        ..tokens(1_000, 100)
    };
    // 400 x 2,500 + 600 x 32,000 + 20 x 10,000 + 80 x 64,000
    assert_eq!(cost("openai/gpt-audio", None, &sound), Some(25_520_000));
    // 400 x 300 + 600 x 1,000 + 100 x 2,500
    assert_eq!(cost("gemini/gemini-2.5-flash", None, &sound), Some(970_000));
    let picture = Usage {
        image_output_tokens: 1_290,
        images: 1,
        ..tokens(10, 1_300)
    };
    // 10 x 300 + 10 x 2,500 + 1,290 x 30,000: the image is not billed twice
    assert_eq!(
        cost("gemini/gemini-2.5-flash-image", None, &picture),
        Some(38_728_000)
    );
    // 10 x 5,000 + 1,300 x 40,000: all that it gives is images
    assert_eq!(cost("openai/gpt-image-1", None, &picture), Some(52_050_000));
    let four = Usage {
        images: 4,
        ..Usage::default()
    };
    assert_eq!(
        cost("gemini/imagen-3.0-generate-001", None, &four),
        Some(160_000_000)
    );
    assert_eq!(
        cost("bedrock/stability.stable-image-core-v1:1", None, &four),
        Some(160_000_000)
    );
}

#[test]
fn other_units_have_their_prices() {
    let pages = Usage {
        pages: 29,
        ..Usage::default()
    };
    assert_eq!(
        cost("mistral/mistral-ocr-latest", None, &pages),
        Some(116_000_000)
    );
    // By the page alone.
    let with_tokens = Usage {
        pages: 29,
        ..tokens(1_000, 1_000)
    };
    assert_eq!(
        cost("vertex/deepseek-ai/deepseek-ocr-maas", None, &with_tokens),
        Some(8_700_000)
    );
    assert_eq!(
        cost("cohere/rerank-v3.5", None, &Usage::default()),
        Some(2_000_000)
    );
    let searches = Usage {
        searches: 3,
        ..Usage::default()
    };
    assert_eq!(
        cost("cohere/rerank-v4.0-pro", None, &searches),
        Some(7_500_000)
    );
    // 1,000 x 50
    assert_eq!(
        cost("voyage/rerank-2.5", None, &tokens(1_000, 0)),
        Some(50_000)
    );
    // 1,000 x 20
    assert_eq!(
        cost("openai/text-embedding-3-small", None, &tokens(1_000, 0)),
        Some(20_000)
    );
    // 1,000 x 100, where the table was wrong by a factor of a thousand
    assert_eq!(
        cost(
            "cohere/embed-multilingual-light-v3.0",
            None,
            &tokens(1_000, 0)
        ),
        Some(100_000)
    );
    // 1,000 x 1,000 + 100 x 1,000, and the fee of the request
    assert_eq!(
        cost("perplexity/sonar", None, &tokens(1_000, 100)),
        Some(6_100_000)
    );
}

#[test]
fn regions_have_their_prices() {
    let usage = tokens(1_000, 100);

    // 1,000 x 620 + 100 x 1,850
    assert_eq!(
        cost("bedrock/deepseek.v3.2", Some("us-west-2"), &usage),
        Some(805_000)
    );
    // 1,000 x 740 + 100 x 2,220
    assert_eq!(
        cost("bedrock/deepseek.v3.2", Some("eu-north-1"), &usage),
        Some(962_000)
    );
    assert_eq!(
        cost("bedrock/deepseek.v3.2", Some("me-south-1"), &usage),
        None
    );
    // 1,000 x 2,750 + 100 x 11,000
    assert_eq!(cost("azure/gpt-4o", Some("eu"), &usage), Some(3_850_000));
}
