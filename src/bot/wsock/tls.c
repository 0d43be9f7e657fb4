/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS, by OpenSSL: the only file that uses it. A client always verifies the chain and the name; this cannot
 * be turned off. OpenSSL has one error queue per thread. We empty it before each call, so that the errors
 * found belong to that call.
 */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "wsock/inside.h"

struct mor_tls {
	SSL_CTX *context;
};

/* ---- certificates: our own, and those we trust ---- */

/* The last error says most, except for a system error, which comes first ("system lib" follows it). */
static const char *reason(void)
{
	unsigned long first = ERR_peek_error(), error = ERR_SYSTEM_ERROR(first) ? first : ERR_peek_last_error();
	const char *text = ERR_SYSTEM_ERROR(error) ? strerrordesc_np(ERR_GET_REASON(error)) :
						     ERR_reason_error_string(error);

	return text ? text : "no reason given";
}

static struct mor_tls *new_tls(const SSL_METHOD *method, mortise_error *err)
{
	struct mor_tls *tls = mor_zalloc(sizeof(*tls));

	ERR_clear_error();
	if (tls)
		tls->context = SSL_CTX_new(method);
	if (!tls || !tls->context || SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION) != 1) {
		mor_fail(err, MORTISE_ENOMEM, "TLS cannot be set up: %s",
			 tls ? reason() : mortise_status_text(MORTISE_ENOMEM));
		return mor_tls_free(tls);
	}
	SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return tls;
}

struct mor_tls *mor_tls_client(const char *ca_file, mortise_error *err)
{
	struct mor_tls *tls = new_tls(TLS_client_method(), err);
	int good;

	if (!tls)
		return NULL;
	SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	good = ca_file ? SSL_CTX_load_verify_file(tls->context, ca_file) :
			 SSL_CTX_set_default_verify_paths(tls->context);
	if (good == 1)
		return tls;
	mor_fail(err, MORTISE_EMANIFEST, "%s: no certificates can be read from it: %s",
		 ca_file ? ca_file : "the system's authorities", reason());
	return mor_tls_free(tls);
}

struct mor_tls *mor_tls_server(const char *cert_file, const char *key_file, mortise_error *err)
{
	struct mor_tls *tls = new_tls(TLS_server_method(), err);

	if (!tls)
		return NULL;
	if (SSL_CTX_use_certificate_chain_file(tls->context, cert_file) != 1)
		mor_fail(err, MORTISE_EMANIFEST, "%s: no certificate can be read from it: %s", cert_file,
			 reason());
	else if (SSL_CTX_use_PrivateKey_file(tls->context, key_file, SSL_FILETYPE_PEM) != 1)
		mor_fail(err, MORTISE_EMANIFEST, "%s: it is not the key of %s: %s", key_file, cert_file,
			 reason());
	else
		return tls;
	return mor_tls_free(tls);
}

struct mor_tls *mor_tls_free(struct mor_tls *tls)
{
	if (tls)
		SSL_CTX_free(tls->context);
	return mor_free(tls);
}

/* ---- one connection ---- */

/* A certificate names a host or an address. OpenSSL must be told which of them to check. */
static bool expect(SSL *ssl, const char *host)
{
	unsigned char bytes[16];

	if (inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

bool mor_tls_begin(struct mor_stream *stream, struct mor_tls *tls, const char *host)
{
	SSL *ssl = SSL_new(tls->context);

	if (!ssl || SSL_set_fd(ssl, stream->fd) != 1 || (host && !expect(ssl, host))) {
		SSL_free(ssl);
		return false;
	}
	if (host)
		SSL_set_connect_state(ssl);
	else
		SSL_set_accept_state(ssl);
	stream->ssl = ssl;
	return true;
}

/* The meaning of a failed OpenSSL call. */
static int judge_tls(struct mor_stream *stream, int done)
{
	int error = SSL_get_error(stream->ssl, done);
	long verdict = SSL_get_verify_result(stream->ssl);

	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
		stream->wants = error == SSL_ERROR_WANT_READ ? MOR_READABLE : MOR_WRITABLE;
		return MOR_WS_STREAM_WAIT;
	}
	if (error == SSL_ERROR_ZERO_RETURN)
		return MOR_WS_STREAM_END;
	if (verdict != X509_V_OK)
		snprintf(stream->why, sizeof(stream->why), "its certificate is not trusted: %s",
			 X509_verify_cert_error_string(verdict));
	else if (ERR_peek_last_error())
		snprintf(stream->why, sizeof(stream->why), "TLS: %s", reason());
	else
		return MOR_WS_STREAM_END;
	return MOR_WS_STREAM_FAILED;
}

int mor_tls_handshake(struct mor_stream *stream)
{
	int done;

	ERR_clear_error();
	done = SSL_do_handshake(stream->ssl);
	if (done == 1)
		return 1;
	done = judge_tls(stream, done);
	if (done != MOR_WS_STREAM_END)
		return done;
	snprintf(stream->why, sizeof(stream->why), "the connection was closed during the TLS handshake");
	return MOR_WS_STREAM_FAILED;
}

ssize_t mor_tls_read(struct mor_stream *stream, void *bytes, size_t len)
{
	int done;

	ERR_clear_error();
	done = SSL_read(stream->ssl, bytes, len < INT32_MAX ? (int)len : INT32_MAX);
	return done > 0 ? done : judge_tls(stream, done);
}

ssize_t mor_tls_write(struct mor_stream *stream, const void *bytes, size_t len)
{
	int done;

	ERR_clear_error();
	done = SSL_write(stream->ssl, bytes, len < INT32_MAX ? (int)len : INT32_MAX);
	return done > 0 ? done : judge_tls(stream, done);
}

bool mor_tls_has_more(const struct mor_stream *stream)
{
	return SSL_pending(stream->ssl) > 0;
}

/* Sends our close message if possible, and does not wait for the peer's. After a failure OpenSSL does not
 * allow it. */
void mor_tls_end(struct mor_stream *stream)
{
	if (!*stream->why && SSL_is_init_finished(stream->ssl))
		SSL_shutdown(stream->ssl);
	SSL_free(stream->ssl);
	stream->ssl = NULL;
	ERR_clear_error();
}
