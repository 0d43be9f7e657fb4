//! @Camel@: waits for one event of the program and runs on_event() for each. The bytes are Borsh, in the
//! order of the event's fields.
use anyhow::{bail, Context, Result};
use base64::{engine::general_purpose::STANDARD, Engine};
use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use std::{collections::HashMap, fs, time::Duration};
use yellowstone_grpc_client::{ClientTlsConfig, GeyserGrpcClient};
use yellowstone_grpc_proto::geyser::{
    subscribe_update::UpdateOneof, CommitmentLevel, SubscribeRequest,
    SubscribeRequestFilterTransactions, SubscribeRequestPing,
};

/// The first eight bytes of sha256("event:@Camel@").
const DISCRIMINATOR: [u8; 8] = [@discriminator@];

#[derive(Deserialize)]
struct Config {
    endpoint: String,
    token_env: String,
    commitment: String,
    program_id: String,
}

/// Yours to fill.
fn on_event(slot: u64, data: &[u8]) {
    println!("{slot} @Camel@ {}", STANDARD.encode(data));
}

fn commitment(name: &str) -> Result<CommitmentLevel> {
    Ok(match name {
        "processed" => CommitmentLevel::Processed,
        "confirmed" => CommitmentLevel::Confirmed,
        "finalized" => CommitmentLevel::Finalized,
        other => bail!("commitment is {other:?}: use processed, confirmed or finalized"),
    })
}

fn request(config: &Config) -> Result<SubscribeRequest> {
    let filter = SubscribeRequestFilterTransactions {
        vote: Some(false),
        failed: Some(false),
        account_include: vec![config.program_id.clone()],
        ..Default::default()
    };

    Ok(SubscribeRequest {
        transactions: HashMap::from([("@snake@".to_string(), filter)]),
        commitment: Some(commitment(&config.commitment)? as i32),
        ..Default::default()
    })
}

async fn listen(config: &Config) -> Result<()> {
    let mut builder = GeyserGrpcClient::build_from_shared(config.endpoint.clone())?
        .x_token(std::env::var(&config.token_env).ok())?;
    if config.endpoint.starts_with("https://") {
        builder = builder.tls_config(ClientTlsConfig::new().with_native_roots())?;
    }
    let mut client = builder.connect().await?;
    let (mut sink, mut updates) = client
        .subscribe_with_request(Some(request(config)?))
        .await?;

    while let Some(update) = updates.next().await {
        match update?.update_oneof {
            Some(UpdateOneof::Transaction(transaction)) => {
                let meta = transaction.transaction.and_then(|info| info.meta);
                for line in meta.map(|meta| meta.log_messages).unwrap_or_default() {
                    let Some(data) = line.strip_prefix("Program data: ") else {
                        continue;
                    };
                    match STANDARD.decode(data) {
                        Ok(data) if data.starts_with(&DISCRIMINATOR) => {
                            on_event(transaction.slot, &data[8..])
                        }
                        _ => {}
                    }
                }
            }
            Some(UpdateOneof::Ping(_)) => {
                let ping = SubscribeRequest {
                    ping: Some(SubscribeRequestPing { id: 1 }),
                    ..Default::default()
                };
                sink.send(ping).await?;
            }
            _ => {}
        }
    }
    bail!("the stream has ended")
}

#[tokio::main]
async fn main() -> Result<()> {
    let path = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "listener.toml".to_string());
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let config: Config = toml::from_str(&text).with_context(|| path.clone())?;

    loop {
        if let Err(error) = listen(&config).await {
            eprintln!("@snake@: {error:#}; trying again in 2 s");
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
