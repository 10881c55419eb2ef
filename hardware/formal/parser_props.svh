  // Each frame has one ticket, six cycles behind its last beat, and the ticket says no more than the frame holds. What the bytes
  // in between mean is compared by random frames and vectors.
  localparam int STAGES = 6;
  localparam int BEAT = W / 8;  // bytes

  logic past;
  initial past = 1'b0;
  always_ff @(posedge clk) past <= 1'b1;
  always_comb if (!past) assume (rst);

  // Reset lasts for four cycles, and settings change while nothing is under way.
  logic [2:0] resetting;
  config_t settings;
  initial resetting = '0;
  always_ff @(posedge clk) begin
    resetting <= rst ? (resetting == 4 ? resetting : resetting + 1'b1) : '0;
    settings <= settings;
  end
  always_comb begin
    if (resetting != 0 && resetting < 4) assume (rst);
    assume (cfg == settings && cfg.trim_to <= 8'(MAX_HEADERS));
  end

  // Bytes of the frame that comes, up to a number that is larger than any length; and by stage what ends there.
  logic [14:0] until_now, bytes;
  logic [STAGES:1] ends, wrongs;
  logic [STAGES:1][14:0] lengths;
  assign bytes = until_now + 15'(BEAT) - 15'(empty);
  always_ff @(posedge clk) begin
    ends <= rst ? '0 : {ends[STAGES-1:1], valid && last};
    wrongs <= {wrongs[STAGES-1:1], wrong};
    lengths <= {lengths[STAGES-1:1], bytes};
    if (rst) until_now <= '0;
    else if (valid) until_now <= last ? '0 : (until_now >= 15'(LEN_MAX) ? until_now : until_now + 15'(BEAT));
  end

  always_ff @(posedge clk) if (past && !rst) begin
    beats_are_counted: assert (15'(beat) * 15'(BEAT) == until_now && beat <= 10'(LEN_MAX / BEAT));
    stages_keep_time: assert ({valid5 && last5, valid4 && last4, valid3 && last3, valid2 && last2, valid1 && last1} == ends[5:1]);
    lengths_keep_time: assert ((!ends[1] || (15'(len1) == lengths[1] && wrong1 == wrongs[1]))
        && (!ends[2] || (15'(top2.len) == lengths[2] && top2.wrong == wrongs[2]))
        && (!ends[3] || (15'(top3.len) == lengths[3] && top3.wrong == wrongs[3])));
    // A frame has one ticket, which says how long it is, and whether it is to be thrown away.
    a_ticket_for_each_frame: assert (out_valid == ends[6]);
    length_is_true: if (out_valid) assert (15'(out.frame.len) == lengths[6]);
    bad_is_true: if (out_valid) assert (out.bad == (wrongs[6] || lengths[6] < 14 || lengths[6] > 15'(MAX_FRAME)));
    // Headers lie within the frame, and those that a trim leaves within its first cell.
    ip_lies_within: if (out_valid && out.frame.ip) assert (out.frame.len >= (out.frame.ipv6 ? 14'd54 : 14'd34)
        + (out.frame.vlan ? 14'd4 : 14'd0));
    ndp_lies_within: if (out_valid && out.frame.kind != FOREIGN) assert (out.frame.ip
        && out.frame.len >= (out.frame.ipv6 ? 14'd74 : 14'd54) + (out.frame.vlan ? 14'd4 : 14'd0));
    a_trim_leaves_part_of_it: if (out_valid && out.frame.kind != FOREIGN) assert (out.frame.keep <= 8'(MAX_HEADERS)
        && 14'(out.frame.keep) <= out.frame.len && out.frame.keep >= (out.frame.ipv6 ? 8'd74 : 8'd54));
    reached: cover (out_valid && out.frame.kind == DATA && out.frame.ipv6);
  end
