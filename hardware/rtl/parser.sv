// Reads the headers of a frame while it passes. One ticket follows each frame, six cycles behind its last beat.
// Bytes that lie behind the end of a frame are never believed: every field counts only if it lies within the length.
module parser
  import pullnet_pkg::*;
#(
    parameter int W = 128  // bits of a beat: 128 or 256
) (
    input logic clk,
    input logic rst,
    input config_t cfg,
    input logic valid,
    input logic [W-1:0] data,
    input logic last,
    input logic [$clog2(W/8)-1:0] empty,  // bytes of the last beat that do not belong to the frame
    input logic wrong,                    // the check sequence is wrong; with the last beat
    output logic out_valid,
    output ticket_t out
);
  localparam int L = W / 16;  // half-words of a beat: every field begins at an even byte
  localparam int Q = L / 4;            // half-words whose sum takes one cycle
  localparam int S = 16 + $clog2(Q);   // its bits
  localparam logic [15:0] LABEL_BASE = 16'd49152;
  localparam logic [13:0] LEN_MAX = 14'h3f00;

  // Stage 1: the beat in a register, and the first 32 bytes of the frame.
  logic [15:0][15:0] top;
  logic [L-1:0][15:0] half1;
  logic valid1, last1, wrong1;
  logic [9:0] beat, beat1;
  len_t len, len1;

  function automatic logic [15:0] half_of(input logic [W-1:0] from, input int index);
    half_of = {from[16*index+:8], from[16*index+8+:8]};
  endfunction

  assign len = len_t'((14'(beat) + 14'd1) * 14'(W / 8)) - len_t'(empty);

  always_ff @(posedge clk) begin
    if (rst) beat <= '0;
    else if (valid) beat <= last ? '0 : (14'(beat) * 14'(W / 8) >= LEN_MAX ? beat : beat + 1'b1);
  end

  always_ff @(posedge clk) begin
    valid1 <= valid && !rst;
    last1 <= last;
    wrong1 <= wrong;
    beat1 <= beat;
    len1 <= len;
    for (int lane = 0; lane < L; lane++) begin
      half1[lane] <= half_of(data, lane);
      for (int first = 0; first < 16; first += L)
        if (valid && int'(beat) * L == first) top[first+lane] <= half_of(data, lane);
    end
  end

  // Stage 2: what the first 32 bytes say.
  logic vlan0, v4_0, v6_0;
  logic [15:0] ether, first_word;
  always_comb begin
    vlan0 = top[6] == 16'h8100;
    ether = vlan0 ? top[8] : top[6];
    first_word = vlan0 ? top[9] : top[7];
    v4_0 = ether == 16'h0800 && first_word[15:12] == 4'd4 && first_word[11:8] >= 4'd5;
    v6_0 = ether == 16'h86dd && first_word[15:12] == 4'd6;
  end
  // What is read of a frame until its ticket is made.
  typedef struct packed {
    len_t len;
    logic wrong;
    logic vlan;
    logic v4;
    logic v6;
    logic fragment;
    logic [4:0] next;  // what IP carries begins at half-word 2 * next + 1
    logic [3:0] ihl;
    logic [7:0] tos;
    logic [7:0] protocol;
    logic [15:0] ip_len;
    mac_t to;
    mac_t from;
  } top_t;
  top_t top2, top3;
  logic valid2, last2, first2;
  logic [9:0] beat2;
  logic [L-1:0][15:0] half2;
  always_ff @(posedge clk) begin
    valid2 <= valid1;
    last2 <= last1;
    first2 <= beat1 == 0;
    beat2 <= beat1;
    half2 <= half1;
    top2.len <= len1;
    top2.wrong <= wrong1;
    top2.vlan <= vlan0;
    top2.v4 <= v4_0;
    top2.v6 <= v6_0;
    top2.next <= (vlan0 ? 5'd4 : 5'd3) + (v6_0 ? 5'd10 : {1'b0, first_word[11:8]});
    top2.ihl <= first_word[11:8];
    top2.tos <= v6_0 ? first_word[11:4] : first_word[7:0];
    if (v6_0) top2.protocol <= vlan0 ? top[12][15:8] : top[10][15:8];
    else top2.protocol <= vlan0 ? top[13][7:0] : top[11][7:0];
    top2.fragment <= v4_0 && (vlan0 ? top[12][13:0] : top[10][13:0]) != 0;
    top2.ip_len <= vlan0 ? top[10] : top[8];
    top2.to <= {top[0], top[1], top[2]};
    top2.from <= {top[3], top[4], top[5]};
  end

  // Stage 3: fields further behind, and the half-words that count for the checksum.
  logic valid3, last3, first3;
  logic [15:0] from_port, to_port;
  logic [3:0] version;  // of the header behind UDP
  logic [7:0] words;    // its byte 14: in version 3, words behind it
  ip_t to_ip, from_ip;
  logic [L-1:0][15:0] half3;
  logic [L-1:0] sums3;
  // The half-words at which fields lie are constants, or odd ones behind a header of whole words.
  function automatic logic in_beat(input logic [9:0] now, input logic [6:0] half);
    in_beat = now == 10'(half / 7'(L));
  endfunction
  logic [6:0] next0, next1, next4, next11;  // half-words of what IP carries
  logic [23:0] behind;  // by word: whether the header lies behind it
  logic [L-1:0] sums;   // by lane: whether it counts for the checksum
  always_comb begin
    next0 = {1'b0, top2.next, 1'b1};
    next1 = {6'(top2.next) + 6'd1, 1'b0};
    next4 = {6'(top2.next) + 6'd2, 1'b1};
    next11 = {6'(top2.next) + 6'd6, 1'b0};
    // Written as equalities: comparisons would each take a carry chain.
    behind = '0;
    for (int word = 0; word < 24; word++) for (int next = word + 1; next <= 24; next++) behind[word] |= top2.next == 5'(next);
    sums = '0;
    for (int half = 8; half < 40; half++)
      if (in_beat(beat2, 7'(half)) && (top2.vlan ? half > 9 && half != 14 : half != 12))
        sums[half%L] |= valid2 && top2.v4 && behind[(half-1)/2];
  end
  always_ff @(posedge clk) begin
    valid3 <= valid2;
    last3 <= last2;
    first3 <= first2;
    top3 <= top2;
    // IPv4 addresses: half-words 6 to 9 of the header.
    for (int half = 0; half < 2; half++) begin
      if (valid2 && in_beat(beat2, top2.vlan ? 7'(15 + half) : 7'(13 + half)))
        from_ip[16*(1-half)+:16] <= top2.vlan ? half2[(15+half)%L] : half2[(13+half)%L];
      if (valid2 && in_beat(beat2, top2.vlan ? 7'(17 + half) : 7'(15 + half)))
        to_ip[16*(1-half)+:16] <= top2.vlan ? half2[(17+half)%L] : half2[(15+half)%L];
    end
    if (valid2 && in_beat(beat2, next0)) from_port <= half2[next0[$clog2(L)-1:0]];
    if (valid2 && in_beat(beat2, next1)) to_port <= half2[next1[$clog2(L)-1:0]];
    if (valid2 && in_beat(beat2, next4)) version <= half2[next4[$clog2(L)-1:0]][15:12];
    if (valid2 && in_beat(beat2, next11)) words <= half2[next11[$clog2(L)-1:0]][15:8];
    half3 <= half2;
    sums3 <= sums;
  end

  // Stage 4: what a trim leaves, and sums of four parts of a beat. A trim leaves at least the bytes before the UDP header, its
  // 8 B, and the 32 B of NDP's header, or 64 B in version 4, which is encrypted. In version 3, that of other transports, up to
  // 23 words follow the 32 B, if the frame has them. In the artifact's layout 20 B of NDP follow the IP header. Headers that
  // do not fit MAX_HEADERS (version 4 behind IPv6 with a VLAN tag, or behind long IPv4 options) make it foreign.
  localparam logic [7:0] MOST_WORDS = 8'd23;
  logic ip3, has_words;
  len_t least3, least_words;
  logic [3:0][S-1:0] part_sum;
  ticket_t ticket3;
  always_comb begin
    ip3 = (top3.v4 || top3.v6) && len_t'({top3.next, 2'b10}) <= top3.len;
    least_words = len_t'({top3.next, 2'b10}) + len_t'(40) + len_t'({words, 2'b0});
    has_words = !cfg.artifact && version == 4'd3 && words <= MOST_WORDS && least_words <= top3.len;
    least3 = len_t'({top3.next, 2'b10}) + (cfg.artifact ? len_t'(20) : version == 4'd4 ? len_t'(72) : len_t'(40));
    if (has_words) least3 = least_words;
    part_sum = '0;
    for (int lane = 0; lane < L; lane++) part_sum[lane/Q] += S'(half3[lane] & {16{sums3[lane]}});
    ticket3 = '0;
    ticket3.to = top3.to;
    ticket3.from = top3.from;
    ticket3.label = from_port - LABEL_BASE;
    ticket3.labelled = !top3.fragment && from_port >= LABEL_BASE;  // if the frame is of a kind that has labels
    ticket3.to_port = to_port;
    ticket3.to_ip = to_ip;
    ticket3.from_ip = from_ip;
    ticket3.v4 = ip3 && top3.v4;
    ticket3.fragment = top3.fragment;
    ticket3.bad = top3.wrong || top3.len < 14 || top3.len > len_t'(MAX_FRAME);
    ticket3.frame.len = top3.len;
    ticket3.frame.ip = ip3;
    ticket3.frame.ipv6 = top3.v6;
    ticket3.frame.vlan = top3.vlan;
    ticket3.frame.ihl = top3.ihl;
    ticket3.frame.tos = top3.tos;
    ticket3.frame.ip_len = top3.ip_len;
    ticket3.frame.group = top3.to[40];
  end
  logic valid4, last4, first4, ours4, flagged4;
  len_t least4;
  logic [3:0][S-1:0] sum4;
  ticket_t ticket4;
  always_ff @(posedge clk) begin
    valid4 <= valid3;
    last4 <= last3;
    first4 <= first3;
    least4 <= least3;
    ours4 <= ip3 && top3.protocol == (cfg.artifact ? 8'd199 : 8'd17);
    flagged4 <= (from_port & 16'h000a) != 0 || top3.ip_len == 16'd40;
    sum4 <= part_sum;
    ticket4 <= ticket3;
  end

  // Stage 5: what the frame is, and the sum of its header. Stage 6: the ticket.
  logic ndp, has_payload, whole, valid5, last5;
  logic [5:0] dscp;
  kind_t kind;
  len_t keep;
  logic [23:0] sum5;
  ticket_t ticket5;
  always_comb begin
    dscp = ticket4.frame.tos[7:2];
    ndp = ours4 && least4 <= len_t'(MAX_HEADERS) && ticket4.frame.len >= least4;
    has_payload = ticket4.frame.len > least4;
    kind = FOREIGN;
    if (ndp && cfg.artifact) begin
      kind = flagged4 || !has_payload ? CONTROL : DATA;
    end else if (ndp) begin
      if (dscp == cfg.dscp[DATA]) kind = has_payload ? DATA : FOREIGN;
      else if (dscp == cfg.dscp[CONTROL]) kind = CONTROL;
      else if (dscp == cfg.dscp[HEADER]) kind = HEADER;
      else if (dscp == cfg.dscp[RETURNED]) kind = RETURNED;
      // Data with a priority, its class selector. All data waits in one queue.
      else if (cfg.dscp[DATA][5:3] == 0 && dscp[2:0] == cfg.dscp[DATA][2:0]) kind = has_payload ? DATA : FOREIGN;
    end
    // Nothing is left to trim: compared with both before it is known which one counts.
    whole = ticket4.frame.len < least4 || (!cfg.artifact && ticket4.frame.len < len_t'(cfg.trim_to));
    keep = cfg.artifact || least4 > len_t'(cfg.trim_to) ? least4 : len_t'(cfg.trim_to);
  end
  always_ff @(posedge clk) begin
    valid5 <= valid4 && !rst;
    last5 <= last4;
    ticket5 <= ticket4;
    ticket5.labelled <= ticket4.labelled && !cfg.artifact && kind != FOREIGN;
    ticket5.frame.kind <= kind;
    ticket5.frame.keep <= whole ? ticket4.frame.len[7:0] : keep[7:0];
    if (valid4) sum5 <= (first4 ? '0 : sum5) + 24'(sum4[0]) + 24'(sum4[1]) + 24'(sum4[2]) + 24'(sum4[3]);
    out_valid <= valid5 && last5 && !rst;
    out <= ticket5;
    out.frame.sum <= fold(sum5);
  end

`ifdef FORMAL
  `include "parser_props.svh"
`endif
endmodule
