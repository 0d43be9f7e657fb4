//! @Camel@: follows the program's transactions through Yellowstone gRPC and writes one line of JSON per
//! event to stdout. After an interruption it goes on from the slot that it saw last.
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

#[derive(Deserialize)]
struct Config {
    endpoint: String,
    token_env: String,
    commitment: String,
    program_id: String,
    #[serde(default)]
    events: Vec<Event>,
}

/// An event of the program: its name, and the eight bytes its data begins with, in hexadecimal.
#[derive(Deserialize)]
struct Event {
    name: String,
    discriminator: String,
}

fn commitment(name: &str) -> Result<CommitmentLevel> {
    Ok(match name {
        "processed" => CommitmentLevel::Processed,
        "confirmed" => CommitmentLevel::Confirmed,
        "finalized" => CommitmentLevel::Finalized,
        other => bail!("commitment is {other:?}: use processed, confirmed or finalized"),
    })
}

fn request(config: &Config, from_slot: Option<u64>) -> Result<SubscribeRequest> {
    let filter = SubscribeRequestFilterTransactions {
        vote: Some(false),
        failed: Some(false),
        account_include: vec![config.program_id.clone()],
        ..Default::default()
    };

    Ok(SubscribeRequest {
        transactions: HashMap::from([("@snake@".to_string(), filter)]),
        commitment: Some(commitment(&config.commitment)? as i32),
        from_slot,
        ..Default::default()
    })
}

/// The names of the events that a transaction's log holds, with their data behind the discriminator.
fn events<'a>(config: &'a Config, logs: &[String]) -> Vec<(&'a str, Vec<u8>)> {
    logs.iter()
        .filter_map(|line| line.strip_prefix("Program data: "))
        .filter_map(|data| STANDARD.decode(data).ok())
        .filter(|data| data.len() >= 8)
        .filter_map(|data| {
            let head: String = data[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            let event = config
                .events
                .iter()
                .find(|event| event.discriminator == head)?;
            Some((event.name.as_str(), data[8..].to_vec()))
        })
        .collect()
}

async fn follow(config: &Config, last_slot: &mut Option<u64>) -> Result<()> {
    let mut builder = GeyserGrpcClient::build_from_shared(config.endpoint.clone())?
        .x_token(std::env::var(&config.token_env).ok())?;
    if config.endpoint.starts_with("https://") {
        builder = builder.tls_config(ClientTlsConfig::new().with_native_roots())?;
    }
    let mut client = builder.connect().await?;
    let (mut sink, mut updates) = client
        .subscribe_with_request(Some(request(config, *last_slot)?))
        .await?;

    while let Some(update) = updates.next().await {
        match update?.update_oneof {
            Some(UpdateOneof::Transaction(transaction)) => {
                *last_slot = Some(transaction.slot);
                let Some(info) = transaction.transaction else {
                    continue;
                };
                let signature = bs58::encode(&info.signature).into_string();
                let logs = info.meta.map(|meta| meta.log_messages).unwrap_or_default();
                for (name, data) in events(config, &logs) {
                    println!(
                        "{{\"slot\":{},\"signature\":\"{signature}\",\"event\":\"{name}\",\"data\":\"{}\"}}",
                        transaction.slot,
                        STANDARD.encode(data)
                    );
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
        .unwrap_or_else(|| "indexer.toml".to_string());
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    let config: Config = toml::from_str(&text).with_context(|| path.clone())?;
    let mut last_slot = None;

    loop {
        if let Err(error) = follow(&config, &mut last_slot).await {
            eprintln!("@snake@: {error:#}; trying again in 2 s");
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
}
