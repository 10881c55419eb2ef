// Reads the headers of a frame while it passes. One ticket follows each frame, LATENCY cycles behind its last beat.
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
  localparam int S = 16 + $clog2(L);  // bits of the sum of so many
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
    if (valid) begin
      for (int lane = 0; lane < L; lane++) begin
        half1[lane] <= half_of(data, lane);
        for (int first = 0; first < 16; first += L)
          if (int'(beat) * L == first) top[first+lane] <= half_of(data, lane);
      end
    end
  end

  // What the first 32 bytes say.
  logic vlan, v4, v6;
  logic [15:0] ether, first_word;
  logic [5:0] at, next;  // half-words at which IP and what it carries begin
  logic [7:0] protocol;
  always_comb begin
    vlan = top[6] == 16'h8100;
    ether = vlan ? top[8] : top[6];
    first_word = vlan ? top[9] : top[7];
    at = vlan ? 6'd9 : 6'd7;
    v4 = ether == 16'h0800 && first_word[15:12] == 4'd4 && first_word[11:8] >= 4'd5;
    v6 = ether == 16'h86dd && first_word[15:12] == 4'd6;
    next = at + (v6 ? 6'd20 : {1'b0, first_word[11:8], 1'b0});
    protocol = v6 ? (vlan ? top[12][15:8] : top[10][15:8]) : (vlan ? top[13][7:0] : top[11][7:0]);
  end

  // Stage 2: fields, and the half-words that count for the checksum.
  logic valid2, last2, wrong2, first2, vlan2, v4_2, v6_2, fragment2;
  len_t len2;
  logic [5:0] next2;
  logic [3:0] ihl2;
  logic [7:0] tos2, protocol2;
  logic [15:0] ip_len2, from_port, to_port;
  logic [3:0] version;  // of the header behind UDP
  logic [7:0] words;    // its byte 14: in version 3, words behind it
  mac_t to2, from2;
  ip_t to_ip2, from_ip2;
  logic [L-1:0][15:0] half2;
  always_ff @(posedge clk) begin
    valid2 <= valid1;
    last2 <= last1;
    wrong2 <= wrong1;
    first2 <= beat1 == 0;
    len2 <= len1;
    vlan2 <= vlan;
    v4_2 <= v4;
    v6_2 <= v6;
    next2 <= next;
    ihl2 <= first_word[11:8];
    tos2 <= v6 ? first_word[11:4] : first_word[7:0];
    protocol2 <= protocol;
    fragment2 <= v4 && (vlan ? top[12][13:0] : top[10][13:0]) != 0;
    ip_len2 <= vlan ? top[10] : top[8];
    to2 <= {top[0], top[1], top[2]};
    from2 <= {top[3], top[4], top[5]};
    for (int lane = 0; lane < L; lane++) begin
      // IPv4 addresses: half-words 6 to 9 of the header.
      for (int half = 0; half < 2; half++) begin
        if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(at) + 14'(6 + half))
          from_ip2[16*(1-half)+:16] <= half1[lane];
        if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(at) + 14'(8 + half))
          to_ip2[16*(1-half)+:16] <= half1[lane];
      end
      if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(next)) from_port <= half1[lane];
      if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(next) + 14'd1) to_port <= half1[lane];
      if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(next) + 14'd4) version <= half1[lane][15:12];
      if (valid1 && 14'(beat1) * 14'(L) + 14'(lane) == 14'(next) + 14'd11) words <= half1[lane][15:8];
      half2[lane] <= valid1 && v4
          && 14'(beat1) * 14'(L) + 14'(lane) > 14'(at)
          && 14'(beat1) * 14'(L) + 14'(lane) < 14'(next)
          && 14'(beat1) * 14'(L) + 14'(lane) != 14'(at) + 14'd5 ? half1[lane] : '0;
    end
  end

  // What the frame is. A trim leaves at least the bytes before the UDP header, its 8 B, and the 32 B of NDP's header, or 64 B
  // in version 4, which is encrypted. In version 3, that of other transports, up to 23 words follow the 32 B, if the frame
  // has them. In the artifact's layout 20 B of NDP follow the IP header. Headers that do not fit the first cell of a frame
  // (version 4 behind IPv6 with a VLAN tag, or behind long IPv4 options) make it foreign.
  localparam logic [7:0] MOST_WORDS = 8'd23;
  logic ip, ndp, has_words;
  len_t least, least_words;
  logic [5:0] dscp;
  kind_t kind;
  always_comb begin
    dscp = tos2[7:2];
    ip = (v4_2 || v6_2) && len_t'({next2, 1'b0}) <= len2;
    least_words = len_t'({next2, 1'b0}) + len_t'(40) + len_t'({words, 2'b0});
    has_words = !cfg.artifact && version == 4'd3 && words <= MOST_WORDS && least_words <= len2;
    least = len_t'({next2, 1'b0}) + (cfg.artifact ? len_t'(20) : version == 4'd4 ? len_t'(72) : len_t'(40));
    if (has_words) least = least_words;
    ndp = ip && protocol2 == (cfg.artifact ? 8'd199 : 8'd17) && len2 >= least && least <= len_t'(CELL_BYTES);
    kind = FOREIGN;
    if (ndp && cfg.artifact) begin
      kind = (from_port & 16'h000a) != 0 || ip_len2 == 16'd40 || len2 <= least ? CONTROL : DATA;
    end else if (ndp) begin
      if (dscp == cfg.dscp[DATA]) kind = len2 > least ? DATA : FOREIGN;
      else if (dscp == cfg.dscp[CONTROL]) kind = CONTROL;
      else if (dscp == cfg.dscp[HEADER]) kind = HEADER;
      else if (dscp == cfg.dscp[RETURNED]) kind = RETURNED;
      // Data with a priority, its class selector. All data waits in one queue.
      else if (cfg.dscp[DATA][5:3] == 0 && dscp[2:0] == cfg.dscp[DATA][2:0]) kind = len2 > least ? DATA : FOREIGN;
    end
  end

  // Stage 3: the sum of a beat. Stage 4: the sum of a header, and the ticket.
  logic valid3, last3, first3;
  logic [S-1:0] sum3;
  logic [23:0] sum4, total;
  ticket_t ticket3;
  logic [S-1:0] beat_sum;
  always_comb begin
    beat_sum = '0;
    for (int lane = 0; lane < L; lane++) beat_sum += S'(half2[lane]);
    total = (first3 ? '0 : sum4) + 24'(sum3);
  end

  ticket_t ticket2;
  len_t keep;
  always_comb begin
    keep = cfg.artifact || least > len_t'(cfg.trim_to) ? least : len_t'(cfg.trim_to);
    ticket2 = '0;
    ticket2.to = to2;
    ticket2.from = from2;
    ticket2.label = from_port - LABEL_BASE;
    ticket2.labelled = !cfg.artifact && kind != FOREIGN && !fragment2 && from_port >= LABEL_BASE;
    ticket2.to_port = to_port;
    ticket2.to_ip = to_ip2;
    ticket2.from_ip = from_ip2;
    ticket2.v4 = ip && v4_2;
    ticket2.fragment = fragment2;
    ticket2.bad = wrong2 || len2 < 14 || len2 > len_t'(MAX_FRAME);
    ticket2.frame.len = len2;
    ticket2.frame.kind = kind;
    ticket2.frame.keep = len2 < keep ? len2[7:0] : keep[7:0];
    ticket2.frame.ip = ip;
    ticket2.frame.ipv6 = v6_2;
    ticket2.frame.vlan = vlan2;
    ticket2.frame.ihl = ihl2;
    ticket2.frame.tos = tos2;
    ticket2.frame.ip_len = ip_len2;
    ticket2.frame.group = to2[40];
  end

  always_ff @(posedge clk) begin
    valid3 <= valid2;
    last3 <= last2;
    first3 <= first2;
    sum3 <= beat_sum;
    ticket3 <= ticket2;
    if (valid3) sum4 <= total;
    out_valid <= valid3 && last3 && !rst;
    out <= ticket3;
    out.frame.sum <= fold(total);
  end
endmodule
