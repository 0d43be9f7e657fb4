//! index_@snake@: the on-chain half of the @Camel@ indexer. It keeps the slot that has been indexed,
//! and announces it in an event that indexers/@snake@ can follow.
//!
//! Call both handlers from lib.rs, inside #[program]:
//!
//!     pub fn open_index_@snake@(ctx: Context<OpenIndex@Camel@>) -> Result<()> {
//!         instructions::index_@snake@::open(ctx)
//!     }
//!     pub fn index_@snake@(ctx: Context<Index@Camel@>, slot: u64, processed: u64) -> Result<()> {
//!         instructions::index_@snake@::advance(ctx, slot, processed)
//!     }
use anchor_lang::prelude::*;

pub const @UPPER@_CHECKPOINT_SEED: &[u8] = b"index_@snake@";

/// How far the @Camel@ indexer of one authority has got.
#[account]
#[derive(InitSpace)]
pub struct @Camel@Checkpoint {
    pub authority: Pubkey,
    pub slot: u64,
    pub processed: u64,
    pub bump: u8,
}

/// Emitted whenever a checkpoint moves.
#[event]
pub struct @Camel@Indexed {
    pub authority: Pubkey,
    pub slot: u64,
    pub processed: u64,
}

#[error_code]
pub enum Index@Camel@Error {
    #[msg("a checkpoint never moves backwards")]
    SlotWentBack,
    #[msg("the number of processed records is too large")]
    TooManyProcessed,
}

#[derive(Accounts)]
pub struct OpenIndex@Camel@<'info> {
    #[account(
        init,
        payer = authority,
        space = 8 + @Camel@Checkpoint::INIT_SPACE,
        seeds = [@UPPER@_CHECKPOINT_SEED, authority.key().as_ref()],
        bump
    )]
    pub checkpoint: Account<'info, @Camel@Checkpoint>,
    #[account(mut)]
    pub authority: Signer<'info>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Index@Camel@<'info> {
    #[account(
        mut,
        has_one = authority,
        seeds = [@UPPER@_CHECKPOINT_SEED, authority.key().as_ref()],
        bump = checkpoint.bump
    )]
    pub checkpoint: Account<'info, @Camel@Checkpoint>,
    pub authority: Signer<'info>,
}

pub fn open(ctx: Context<OpenIndex@Camel@>) -> Result<()> {
    let checkpoint = &mut ctx.accounts.checkpoint;

    checkpoint.authority = ctx.accounts.authority.key();
    checkpoint.bump = ctx.bumps.checkpoint;
    Ok(())
}

pub fn advance(ctx: Context<Index@Camel@>, slot: u64, processed: u64) -> Result<()> {
    let checkpoint = &mut ctx.accounts.checkpoint;

    require!(slot >= checkpoint.slot, Index@Camel@Error::SlotWentBack);
    checkpoint.slot = slot;
    checkpoint.processed = checkpoint
        .processed
        .checked_add(processed)
        .ok_or(Index@Camel@Error::TooManyProcessed)?;
    emit!(@Camel@Indexed {
        authority: checkpoint.authority,
        slot,
        processed: checkpoint.processed,
    });
    Ok(())
}
