//! @snake@: a mint of the Token-2022 program, @with@.
//!
//! Made by spl-token-2022 from tokens/@snake@.toml. A change by hand is kept: the plugin then refuses to write
//! this file again without --force.
//!
//! Call the handlers from lib.rs, inside #[program]:
//!
//!     pub fn create_@snake@(ctx: Context<Create@Camel@>) -> Result<()> {
//!         token::@snake@::create(ctx)
//!     }
//!     pub fn issue_@snake@(ctx: Context<Issue@Camel@>, amount: u64) -> Result<()> {
//!         token::@snake@::issue(ctx, amount)
//!     }
use anchor_lang::prelude::*;
use anchor_spl::token_interface::{self, Mint, MintTo, TokenAccount, TokenInterface};

pub const @UPPER@_SEED: &[u8] = b"@snake@";
pub const @UPPER@_DECIMALS: u8 = @decimals@;

#[event]
pub struct @Camel@Issued {
    pub mint: Pubkey,
    pub to: Pubkey,
    pub amount: u64,
}

#[error_code]
pub enum @Camel@Error {
    #[msg("nothing is to be issued")]
    NothingToIssue,
}

#[derive(Accounts)]
pub struct Create@Camel@<'info> {
    #[account(
        init,
        payer = authority,
        mint::token_program = token_program,
        mint::decimals = @UPPER@_DECIMALS,
        mint::authority = authority,
@constraints@        seeds = [@UPPER@_SEED, authority.key().as_ref()],
        bump
    )]
    pub mint: InterfaceAccount<'info, Mint>,
@accounts@    #[account(mut)]
    pub authority: Signer<'info>,
    pub token_program: Interface<'info, TokenInterface>,
    pub system_program: Program<'info, System>,
}

#[derive(Accounts)]
pub struct Issue@Camel@<'info> {
    #[account(
        mut,
        mint::token_program = token_program,
        mint::authority = authority,
        seeds = [@UPPER@_SEED, authority.key().as_ref()],
        bump
    )]
    pub mint: InterfaceAccount<'info, Mint>,
    #[account(mut, token::mint = mint, token::token_program = token_program)]
    pub to: InterfaceAccount<'info, TokenAccount>,
    pub authority: Signer<'info>,
    pub token_program: Interface<'info, TokenInterface>,
}

pub fn create(ctx: Context<Create@Camel@>) -> Result<()> {
    msg!("created the mint {}", ctx.accounts.mint.key());
    Ok(())
}

pub fn issue(ctx: Context<Issue@Camel@>, amount: u64) -> Result<()> {
    require!(amount > 0, @Camel@Error::NothingToIssue);
    let accounts = MintTo {
        mint: ctx.accounts.mint.to_account_info(),
        to: ctx.accounts.to.to_account_info(),
        authority: ctx.accounts.authority.to_account_info(),
    };
    let program = ctx.accounts.token_program.to_account_info();

    token_interface::mint_to(CpiContext::new(program, accounts), amount)?;
    emit!(@Camel@Issued {
        mint: ctx.accounts.mint.key(),
        to: ctx.accounts.to.key(),
        amount,
    });
    Ok(())
}
